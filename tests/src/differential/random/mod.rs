//! Random objects on both servers: created, replaced, patched and applied, none of it stored.
//!
//! The shapes of all built-in kinds come from stock's OpenAPI documents, so a kind needs nothing here to be tried; the
//! updates need one valid object of it (`tests/differential/random/objects.yaml`). Answers are normalized and reported
//! as those of the table are.

mod case;
mod change;
mod custom;
mod directives;
mod oddities;
mod operations;
mod pools;
mod queries;
mod schema;
mod smaller;
mod trial;
mod valid;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;

use futures::{StreamExt as _, TryStreamExt as _};

use self::case::{Case, Way};
use self::trial::{Difference, Outcome, Question};
use super::report::{self, Summary, Verdict};
use super::suite::{Servers, SuiteError, readable};

/// Cases that are asked at once: one for each processor and one that waits for the network.
const CONCURRENCY: usize = 4;

/// What all built-in kinds are called together.
const BUILT_IN: &str = "built-in";

/// How many of those that differ in the same place are shown.
const SHOWN_OF_A_PLACE: usize = 1;

/// What to draw.
#[derive(Debug, Clone)]
pub struct Draw {
    /// How many objects of each kind, and how many updates of each way.
    pub rounds: u64,
    /// The seed of the first round; each later round has the next one.
    pub seed: u64,
    /// Only this kind: `Pod`, or `v1/Pod`, or `v1/Pod/status`, or `built-in` for all of these, or `custom` for custom resources.
    pub kind: Option<String>,
}

/// What was drawn and what came of it.
#[derive(Debug)]
pub struct Drawn {
    /// A verdict for each case.
    pub summary: Summary,
    /// How many of them stock accepted.
    pub accepted: usize,
    /// How many it broke off, because it panicked: there is nothing to compare with.
    pub unanswered: usize,
    /// How many differ in each place of a kind, the most frequent first.
    pub places: Vec<(String, usize)>,
}

/// Draws, asks both servers, and makes what differs smaller.
pub async fn run(servers: &Servers, draw: &Draw) -> Result<Drawn, SuiteError> {
    let rounds = draw.seed..draw.seed.saturating_add(draw.rounds);
    let mut findings = Findings::default();
    if draw.kind.as_ref().is_none_or(|name| name != custom::TITLE) {
        built_in(servers, draw, rounds.clone(), &mut findings).await?;
    }
    if draw.kind.as_ref().is_none_or(|name| name == custom::TITLE) {
        for seed in rounds {
            custom::run(servers, seed, &mut findings).await?;
        }
    }
    let Findings { summary, accepted, unanswered, places } = findings;
    let mut places: Vec<(String, usize)> = places.into_iter().collect();
    places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Drawn { summary, accepted, unanswered, places })
}

async fn built_in(
    servers: &Servers,
    draw: &Draw,
    rounds: Range<u64>,
    findings: &mut Findings,
) -> Result<(), SuiteError> {
    let mut kinds = schema::read(&servers.stock).await?;
    if let Some(name) = draw.kind.as_ref().filter(|name| *name != BUILT_IN) {
        kinds.retain(|kind| kind.is_called(name));
        if kinds.is_empty() {
            return Err(SuiteError::NothingToRun(name.clone()));
        }
    }
    let valid = valid::create(servers, &kinds).await?;
    let of_round = |seed: u64| {
        let ways = move |(kind, valid)| Way::ALL.into_iter().filter_map(move |way| Case::draw(kind, valid, way, seed));
        kinds.iter().zip(valid.iter().map(Vec::as_slice)).flat_map(ways)
    };
    findings.add(servers, rounds.flat_map(of_round)).await
}

/// What came of the cases so far.
#[derive(Debug, Default)]
struct Findings {
    summary: Summary,
    accepted: usize,
    unanswered: usize,
    places: BTreeMap<String, usize>,
}

impl Findings {
    /// Asks both servers, and makes what differs smaller.
    async fn add<Q: Question>(&mut self, servers: &Servers, cases: impl Iterator<Item = Q>) -> Result<(), SuiteError> {
        let outcomes: Vec<(Q, Outcome)> = futures::stream::iter(cases)
            .map(async |case| trial::judge(servers, &case).await.map(|outcome| (case, outcome)))
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        for (case, outcome) in outcomes {
            self.accepted += usize::from(outcome.accepted);
            self.unanswered += usize::from(!outcome.is_answered);
            if !outcome.is_answered {
                continue;
            }
            let mut verdict = Verdict::new(&case.sequence());
            verdict.compared = 1;
            verdict.again = case.command();
            if let Some(difference) = outcome.difference {
                let seen = self.places.entry(format!("{} {}", case.title(), difference.place)).or_default();
                *seen += 1;
                if *seen <= SHOWN_OF_A_PLACE {
                    show(servers, &case, difference, &mut verdict).await?;
                } else {
                    let text = format!("in {}, as one above", difference.place);
                    let Difference { request, .. } = difference;
                    verdict.differences.push(report::Difference { step: 1, request, text, reason: None });
                }
            }
            self.summary.verdicts.push(verdict);
        }
        Ok(())
    }
}

/// Shows the smallest content that still differs in the same place.
async fn show<Q: Question>(
    servers: &Servers,
    case: &Q,
    difference: Difference,
    verdict: &mut Verdict,
) -> Result<(), SuiteError> {
    let stays = async |content: &serde_json::Value| {
        let outcome = trial::judge(servers, &case.with(content.clone())).await?;
        Ok::<_, SuiteError>(outcome.difference.is_some_and(|smaller| smaller.place == difference.place))
    };
    let content = smaller::make_smaller(case.content().clone(), stays).await?;
    let smallest = case.with(content);
    let Difference { request, stock, ours, place } =
        trial::judge(servers, &smallest).await?.difference.unwrap_or(difference);
    let request = format!("{request}, in {place}\n  {}", smallest.described_content());
    verdict.add(1, &request, &readable(Some(&stock)), &readable(Some(&ours)), &[]);
    Ok(())
}
