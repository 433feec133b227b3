//! Brings a computer to what is wanted, one step after the other, and reads every step back.

use serde_json::json;
use tokio::time::Instant;

use crate::computer::{Computer, Power};
use crate::connection::Controller;
use crate::error::RedfishError;
use crate::plan::{self, Media, Step, Wanted};

/// The most steps of one attempt; four are enough for everything.
const MOST_STEPS: usize = 8;

/// How far an attempt came.
#[derive(Debug)]
pub struct Outcome {
    /// The computer as it was read last.
    pub computer: Option<Computer>,
    /// The steps that were done.
    pub done: Vec<Step>,
    /// Why it did not go on; none when all is as wanted.
    pub problem: Option<RedfishError>,
}

impl Controller {
    /// Brings a computer to what is wanted, as far as its controller does what it says.
    pub async fn carry_out(&self, wanted: &Wanted) -> Outcome {
        let mut outcome = Outcome { computer: None, done: Vec::new(), problem: None };
        outcome.problem = self.attempt(wanted, &mut outcome).await.err();
        outcome
    }

    async fn attempt(&self, wanted: &Wanted, outcome: &mut Outcome) -> Result<(), RedfishError> {
        let mut found = self.inspect().await?;
        outcome.computer = Some(found.clone());
        if found.drive.is_none() && matches!(wanted.media, Media::Image(_)) {
            return Err(RedfishError::Lacks("no virtual drive for discs, below the system or its managers".to_owned()));
        }
        while let Some(step) = plan::next(&found, wanted, &outcome.done) {
            if outcome.done.len() >= MOST_STEPS {
                let instead = plan::instead(&step, &found);
                return Err(RedfishError::Lacks(format!("done {MOST_STEPS} steps and undoes them again: {instead}")));
            }
            self.tell(&step, &found).await?;
            found = self.see(&step, outcome).await?;
            outcome.done.push(step);
        }
        Ok(())
    }

    /// Waits until a step can be read back.
    async fn see(&self, step: &Step, outcome: &mut Outcome) -> Result<Computer, RedfishError> {
        let started = Instant::now();
        let mut is_forced = false;
        loop {
            let looked = self.inspect().await;
            let elapsed = started.elapsed();
            match looked {
                Ok(found) => {
                    outcome.computer = Some(found.clone());
                    if plan::is_done(step, &found) {
                        return Ok(found);
                    }
                    if elapsed >= self.patience.change {
                        let found = plan::instead(step, &found);
                        return Err(RedfishError::Ignored {
                            step: step.to_string(),
                            seconds: elapsed.as_secs(),
                            found,
                        });
                    }
                    // A system that does not listen is not asked for ever.
                    if *step == Step::TurnOff && !is_forced && elapsed >= self.patience.change / 2 {
                        self.reset(&found, &["ForceOff", "Off"]).await?;
                        is_forced = true;
                    }
                }
                // Controllers that just got work to do are often silent for a moment.
                Err(error) if elapsed >= self.patience.change || error.is_about_credentials() => return Err(error),
                Err(_) => {}
            }
            tokio::time::sleep(self.patience.look).await;
        }
    }

    async fn tell(&self, step: &Step, found: &Computer) -> Result<(), RedfishError> {
        match step {
            Step::Eject | Step::Insert(_) => self.tell_drive(step, found).await,
            Step::BootDrive => {
                let boot = json!({"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"});
                self.patch(&found.path, &json!({"Boot": boot})).await
            }
            Step::BootUsual => self.boot_usual(found).await,
            Step::TurnOn => self.reset(found, &["On", "ForceOn"]).await,
            Step::TurnOff => self.reset(found, &["GracefulShutdown", "ForceOff"]).await,
            Step::Restart => self.reset(found, &["ForceRestart", "PowerCycle", "GracefulRestart"]).await,
        }
    }

    /// Takes back what was said about the next boot. Some controllers know no way back but another device.
    async fn boot_usual(&self, found: &Computer) -> Result<(), RedfishError> {
        if found.boots.is_empty() || found.boots.iter().any(|target| target == "None") {
            let boot = json!({"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"});
            match self.patch(&found.path, &json!({"Boot": boot})).await {
                Err(RedfishError::Refused { status: 400..=499, .. }) => {}
                outcome => return outcome,
            }
        }
        let boot = json!({"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Once"});
        self.patch(&found.path, &json!({"Boot": boot})).await
    }

    /// Asks for the first of some resets that the controller knows.
    async fn reset(&self, found: &Computer, wished: &[&str]) -> Result<(), RedfishError> {
        let is_known = |kind: &&&str| found.resets.is_empty() || found.resets.iter().any(|known| known == **kind);
        let Some(kind) = wished.iter().find(is_known) else {
            let known = found.resets.join(", ");
            return Err(RedfishError::Lacks(format!("no reset of the kinds {}; it knows {known}", wished.join(", "))));
        };
        self.post(&found.reset, &json!({"ResetType": kind})).await
    }

    async fn tell_drive(&self, step: &Step, found: &Computer) -> Result<(), RedfishError> {
        let Some(drive) = &found.drive else {
            return Err(RedfishError::Lacks("no virtual drive for discs".to_owned()));
        };
        match (step, &drive.insert, &drive.eject) {
            (Step::Insert(image), Some(action), _) => {
                let body = json!({"Image": image, "Inserted": true, "WriteProtected": true});
                match self.post(action, &body).await {
                    // Some take the address and nothing else.
                    Err(RedfishError::Refused { status: 400..=499, .. }) => {
                        self.post(action, &json!({"Image": image})).await
                    }
                    outcome => outcome,
                }
            }
            (Step::Insert(image), None, _) => self.patch(&drive.path, &json!({"Image": image, "Inserted": true})).await,
            (_, _, Some(action)) => self.post(action, &json!({})).await,
            (_, _, None) => self.patch(&drive.path, &json!({"Image": null, "Inserted": false})).await,
        }
    }
}

impl Outcome {
    /// Whether the computer is on, as far as is known.
    pub fn is_on(&self) -> Option<bool> {
        match self.computer.as_ref()?.power {
            Power::On => Some(true),
            Power::Off => Some(false),
            Power::Other(_) => None,
        }
    }
}
