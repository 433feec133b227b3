//! The controllers of workloads and the scheduler, seen from outside.

mod batch;
mod identities;
mod plane;
mod rollouts;
mod scheduling;
mod services;
