//! The controllers of workloads and the scheduler, seen from outside.

mod plane;
mod rollouts;
mod scheduling;
