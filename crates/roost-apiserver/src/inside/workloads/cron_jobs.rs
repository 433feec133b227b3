//! CronJobs.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use roost_object::{Status, Value};
use roost_workloads::{Action, Event, Source, cron_job};

use super::Desk;
use super::apply::namespace_is_going;
use crate::write::metadata_text;

impl Desk<'_> {
    /// Starts what is due and cleans up after what has ended.
    pub(super) async fn cron_job(self) -> Result<(), Status> {
        let namespace = &self.work.namespace;
        let Some(cron) = self.cluster.find("batch", "cronjobs", namespace, &self.work.name) else { return Ok(()) };
        let named = cron["spec"]["timeZone"].as_str();
        let Ok(zone) = named.map_or(Ok(TimeZone::UTC), TimeZone::get) else {
            let message = format!("invalid timeZone: \"{}\"", named.unwrap_or_default());
            self.say(Event::warning(&cron, cron_job::COMPONENT, "UnknownTimeZone", message)).await;
            return Ok(());
        };
        let names = self.ask(|index| index.owned(Source::Jobs, metadata_text(&cron, "uid")));
        let jobs: Vec<Value> =
            names.iter().filter_map(|name| self.cluster.find("batch", "jobs", namespace, name)).collect();
        let mut started = None;
        for action in cron_job::plan(&cron, &jobs, &zone, Timestamp::now()) {
            match action {
                Action::Create(job) => match self.create(job).await {
                    Ok(job) => started = Some(job),
                    Err(status) if namespace_is_going(&status) || status.reason == "AlreadyExists" => return Ok(()),
                    Err(status) => return Err(status),
                },
                Action::UpdateStatus(mut next) => {
                    if let Some(job) = &started {
                        cron_job::started(&mut next, job);
                    }
                    self.apply(vec![Action::UpdateStatus(next)]).await?;
                }
                other => self.apply(vec![other]).await?,
            }
        }
        Ok(())
    }
}
