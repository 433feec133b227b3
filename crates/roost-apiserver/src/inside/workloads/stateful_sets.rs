//! StatefulSets.

use jiff::Timestamp;
use roost_object::{Status, Value};
use roost_workloads::action::Reference;
use roost_workloads::stateful_set::{self, COMPONENT, Step};
use roost_workloads::{Action, Event, Pod, Source};
use serde_json::json;

use super::Desk;
use super::apply::{Failure, namespace_is_going};
use crate::write::metadata_text;

impl Desk<'_> {
    /// Takes a StatefulSet one step further.
    pub(super) async fn stateful_set(self) -> Result<(), Status> {
        let Some(set) = self.subject(Source::StatefulSets) else { return Ok(()) };
        let revisions = self.revisions(&set);
        let pods = self.ask(|index| index.pods_for(&self.work.namespace, metadata_text(&set, "uid")));
        let uid = metadata_text(&set, "uid");
        for pod in pods.iter().filter(|pod| pod.metadata.is_controlled_by(uid) && !pod.metadata.is_going()) {
            if self.own_claims(&set, pod).await? && stateful_set::is_in_range(&set, pod) {
                let (name, own) = (&pod.metadata.name, metadata_text(&set, "name"));
                let message = format!("Update Pod {name} in StatefulSet {own} successful");
                self.say(Event::normal(&set, COMPONENT, "SuccessfulUpdate", message)).await;
            }
        }
        let plan = stateful_set::plan(&set, revisions, pods, Timestamp::now());
        match self.try_apply(plan.before).await {
            Err(Failure { action: Action::Create(made), status }) if status.reason == "AlreadyExists" => {
                let name = metadata_text(&made, "name");
                let there = self.cluster.find("apps", "controllerrevisions", &self.work.namespace, name);
                if there.is_some_and(|there| there["data"] == made["data"]) {
                    // It is the same one, and about to be let go by whoever had it.
                    self.again(jiff::SignedDuration::from_secs(1));
                    return Ok(());
                }
                // Another template has the same hash; the count makes the next try another name.
                return self.apply(vec![stateful_set::collided(&set)]).await;
            }
            Err(failure) => return Err(failure.status),
            Ok(()) => {}
        }
        let mut failure = None;
        for step in plan.steps {
            let outcome = match step {
                Step::Create { pod, claims } => self.create_member(&set, pod, claims).await,
                Step::Delete(pod) => self.delete_member(&set, &pod).await,
            };
            if let Err(status) = outcome {
                failure = Some(status);
                break;
            }
        }
        match failure {
            Some(status) if namespace_is_going(&status) => Ok(()),
            Some(status) => Err(status),
            None => self.apply(plan.after).await,
        }
    }

    /// Lets a pod's claims belong to the set or to the pod, as the set's policy wants; whether some did not.
    async fn own_claims(self, set: &Value, pod: &Pod) -> Result<bool, Status> {
        let templates = set["spec"]["volumeClaimTemplates"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(number) = stateful_set::ordinal(set, pod) else { return Ok(false) };
        let mut changed = false;
        for template in templates {
            let name = stateful_set::claim_name(set, template, number);
            let claim = self.cluster.find("", "persistentvolumeclaims", &self.work.namespace, &name);
            let Some(claim) = claim else { continue };
            if let Some(owners) = stateful_set::owners_of_claim(set, pod, &claim) {
                let owners = if owners.is_empty() { Value::Null } else { owners.into() };
                self.patch(&Reference::of(&claim), "", &json!({"metadata": {"ownerReferences": owners}})).await?;
                changed = true;
            }
        }
        Ok(changed)
    }

    async fn create_member(self, set: &Value, pod: Value, claims: Vec<Value>) -> Result<(), Status> {
        let (own, name) = (metadata_text(set, "name"), metadata_text(&pod, "name").to_owned());
        for claim in claims {
            let claim_name = metadata_text(&claim, "name").to_owned();
            if self.cluster.find("", "persistentvolumeclaims", &self.work.namespace, &claim_name).is_some() {
                continue;
            }
            self.create(claim).await?;
            let message = format!("Create Claim {claim_name} Pod {name} in StatefulSet {own} success");
            self.say(Event::normal(set, COMPONENT, "SuccessfulCreate", message)).await;
        }
        match self.create(pod).await {
            Ok(made) => {
                let message = format!("Create Pod {name} in StatefulSet {own} successful");
                self.say(Event::normal(set, COMPONENT, "SuccessfulCreate", message)).await;
                match serde_json::from_value(made) {
                    Ok(pod) => self.own_claims(set, &pod).await.map(drop),
                    Err(_) => Ok(()),
                }
            }
            Err(status) => {
                if !namespace_is_going(&status) {
                    let message = format!("Create Pod {name} in StatefulSet {own} failed error: {}", status.message);
                    self.say(Event::warning(set, COMPONENT, "FailedCreate", message)).await;
                }
                Err(status)
            }
        }
    }

    async fn delete_member(self, set: &Value, pod: &Reference) -> Result<(), Status> {
        self.delete(pod, None, None).await?;
        let message = format!("Delete Pod {} in StatefulSet {} successful", pod.name, metadata_text(set, "name"));
        self.say(Event::normal(set, COMPONENT, "SuccessfulDelete", message)).await;
        Ok(())
    }

    /// Tells what an action says, if it says something.
    pub(super) async fn say(self, action: Action) {
        if let Action::Tell(event) = action {
            self.tell(&event).await;
        }
    }
}
