//! The kinds that run pods, and those that say how many and when.

mod autoscaler;
mod controller_revision;
mod counts;
mod cron_job;
mod cron_schedule;
mod daemon_set;
mod deployment;
mod disruption_budget;
mod indexes;
mod job;
mod job_policy;
mod job_status;
mod job_update;
mod pod_template;
mod priority_class;
mod replicas;
pub mod scale;
mod stateful_set;
mod template;

use crate::{Rules, pod};

/// One row a kind.
pub(crate) static TABLE: &[Rules] = &[
    pod::RULES,
    pod_template::RULES,
    replicas::REPLICATION_CONTROLLER,
    replicas::REPLICA_SET,
    deployment::RULES,
    stateful_set::RULES,
    daemon_set::RULES,
    controller_revision::RULES,
    job::RULES,
    cron_job::RULES,
    disruption_budget::RULES,
    autoscaler::RULES,
    priority_class::RULES,
];
