//! Waiting for a cluster with its steps on show: until it is done, cannot go on, takes too long, or nobody wants to wait.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::high::Patience;
use crate::plane::{Plane, PlaneError, Resource};
use crate::progress::{Progress, State, Step, TICK, shortened};

use super::error::CommandError;

/// What a state of an object means for who waits.
pub(crate) struct Judgement {
    pub(crate) steps: Vec<Step>,
    pub(crate) verdict: Verdict,
}

/// Whether to go on waiting.
pub(crate) enum Verdict {
    Waiting,
    Done,
    /// It cannot become done by waiting.
    Blocked(String),
    Gone,
}

/// What is waited for, in words.
pub(crate) struct Purpose {
    /// "cluster clusters/demo".
    pub(crate) what: String,
    /// What goes on when nobody waits any more.
    pub(crate) goes_on: String,
    /// The command that shows more.
    pub(crate) look: String,
}

/// Follows an object until the judgement is final.
pub(crate) async fn wait(
    plane: &Plane,
    (resource, namespace, name): (&Resource, &str, &str),
    known: Option<&Value>,
    patience: Patience,
    purpose: &Purpose,
    progress: &mut Progress,
    judge: impl Fn(Option<&Value>) -> Judgement,
) -> Result<(), CommandError> {
    let (judgements, mut judged) = mpsc::unbounded_channel();
    let following = plane.follow(resource, (namespace, name), known, |object| {
        let Judgement { steps, verdict } = judge(object);
        let _ = judgements.send(steps);
        match verdict {
            Verdict::Waiting => ControlFlow::Continue(()),
            verdict => ControlFlow::Break(verdict),
        }
    });
    let mut following = std::pin::pin!(following);
    let mut tick = tokio::time::interval(TICK);
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let mut deadline = std::pin::pin!(deadline(patience));
    let mut waiting_for = cause(&[]);
    let verdict: Result<Verdict, PlaneError> = loop {
        tokio::select! {
            biased;
            Some(steps) = judged.recv() => {
                waiting_for = cause(&steps);
                progress.show(steps);
            }
            verdict = &mut following => break verdict,
            _ = &mut interrupt => {
                return Err(CommandError::Interrupted { goes_on: purpose.goes_on.clone(), look: purpose.look.clone() });
            }
            () = &mut deadline => {
                return Err(CommandError::TimedOut {
                    what: purpose.what.clone(),
                    after: progress.elapsed(),
                    cause: waiting_for,
                    look: purpose.look.clone(),
                });
            }
            _ = tick.tick(), if progress.is_live() => progress.redraw(),
        }
    };
    while let Ok(steps) = judged.try_recv() {
        progress.show(steps);
    }
    match verdict? {
        Verdict::Done | Verdict::Waiting => Ok(()),
        Verdict::Gone => Err(CommandError::Vanished { what: purpose.what.clone() }),
        Verdict::Blocked(cause) => {
            Err(CommandError::Blocked { what: purpose.what.clone(), cause, look: purpose.look.clone() })
        }
    }
}

async fn deadline(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
        None => std::future::pending().await,
    }
}

/// The first step that is not done, in words.
fn cause(steps: &[Step]) -> String {
    let open = steps.iter().find(|step| step.state != State::Done);
    match open {
        Some(step) if step.detail.is_empty() => format!("waiting for {}", step.name),
        Some(step) => format!("waiting for {}: {}", step.name, shortened(&step.detail)),
        None => "nothing has been reported yet".to_owned(),
    }
}
