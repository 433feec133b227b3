// Command gen writes the generated tables of the roost-kinds crate.
//
// It reads the Go types of the built-in kinds by reflection, and files saved from a running stock kube-apiserver with
// default flags and RBAC. It writes Rust source with facts only: names, types, numbers, keys.
//
//	go run ./gen -openapi <folder> -discovery <file>,<file> -apiservices <file> -objects <file>,... -out <folder>
//	go run ./gen -openapi <folder> -discovery <file>,<file> -fixtures <folder> [-every]
//
// The saved files are plain answers of the server:
//
//   - openapi: a folder with each document that /openapi/v3 names, one file each with any name ending in .json;
//   - discovery: /api and /apis, asked for with
//     Accept: application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList;
//   - apiservices: the list of apiservices in apiregistration.k8s.io/v1;
//   - objects: the lists of namespaces, clusterroles, clusterrolebindings, roles, rolebindings,
//     prioritylevelconfigurations, flowschemas and priorityclasses, in this order.
//
// The tables go to crates/roost-kinds/src/generated, the fixtures to crates/roost-kinds/tests/fixtures. Both are the same
// from run to run. The environment needs GOFLAGS=-mod=mod.
package main

import (
	"flag"
	"log"
	"strings"
)

func main() {
	log.SetFlags(0)
	openapi := flag.String("openapi", "", "folder with the OpenAPI v3 documents of a running stock server")
	discovery := flag.String("discovery", "", "the aggregated discovery answers of /api and /apis, in this order")
	objects := flag.String("objects", "", "lists of the objects that a stock server creates by itself, in creation order")
	services := flag.String("apiservices", "", "the list of APIService objects of a stock server")
	out := flag.String("out", "", "the folder of the generated Rust modules")
	fixtures := flag.String("fixtures", "", "write golden protobuf and JSON pairs into this folder")
	every := flag.Bool("every", false, "write fixtures of every kind, not only of the committed ones")
	flag.Parse()

	groups := readDiscovery(strings.Split(*discovery, ","))
	table := newTypeTable(readSchemas(*openapi))
	table.addServed(groups)
	table.addKeptInAnnotations()
	if *out != "" {
		table.write(*out)
		writeResources(*out, groups, readPriorities(*services), table)
		writeBootstrap(*out, strings.Split(*objects, ","))
		writeOpenAPI(*out, *openapi)
	}
	if *fixtures != "" {
		writeFixtures(*fixtures, *every, table)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
