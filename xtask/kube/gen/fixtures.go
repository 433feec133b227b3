package main

func writeFixtures(folder string) {}
