//! Jobs.

use jiff::{SignedDuration, Timestamp};
use roost_object::Status;
use roost_workloads::{Source, job};

use super::Desk;
use crate::write::metadata_text;

impl Desk<'_> {
    /// Takes a Job one step further; deletes one whose time has passed.
    pub(super) async fn job(self) -> Result<(), Status> {
        let Some(subject) = self.subject(Source::Jobs) else { return Ok(()) };
        let now = Timestamp::now();
        if job::is_finished(&subject) {
            return match job::until_removal(&subject, now) {
                Some(left) if left > SignedDuration::ZERO => {
                    self.again(left);
                    Ok(())
                }
                Some(_) if subject["metadata"]["deletionTimestamp"].is_null() => {
                    self.apply(vec![job::remove(&subject)]).await
                }
                _ => Ok(()),
            };
        }
        let pods = self.ask(|index| index.pods_for(&self.work.namespace, metadata_text(&subject, "uid")));
        let plan = job::plan(&subject, pods, now);
        self.apply(plan.claims).await?;
        if let Some(status) = self.delete_pods(&subject, &plan.delete, job::COMPONENT).await {
            return Err(status);
        }
        if let Some(status) = self.create_each(&subject, plan.create, job::COMPONENT).await {
            return Err(status);
        }
        self.apply(plan.after).await
    }

    /// Lets a pod go that nobody counts any more, because its Job is gone or let go of it.
    pub(super) async fn left_pod(self) -> Result<(), Status> {
        let key = format!("{}/{}", self.work.namespace, self.work.name);
        let Some(pod) = self.ask(|index| index.pod(&key).cloned()) else { return Ok(()) };
        let owner = pod.metadata.controller().map(|owner| owner.name.as_str()).unwrap_or_default();
        let job = self.cluster.find("batch", "jobs", &self.work.namespace, owner);
        self.apply(job::let_go(&pod, job.as_ref()).into_iter().collect()).await
    }
}
