//! Random objects on both servers: created, replaced, patched and applied, none of it stored.
//!
//! The shapes of all built-in kinds come from stock's OpenAPI documents, so a kind needs nothing here to be tried; the
//! updates need one valid object of it (`tests/differential/random/objects.yaml`). Answers are normalized and reported
//! as those of the table are.

mod case;
mod change;
mod pools;
mod schema;
mod smaller;
mod trial;
mod valid;
mod values;

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};

use self::case::{Case, Way};
use self::trial::{Difference, Outcome};
use super::report::{self, Summary, Verdict};
use super::suite::{Servers, SuiteError, readable};

/// Cases that are asked at once: one for each processor and one that waits for the network.
const CONCURRENCY: usize = 4;

/// How many of those that differ in the same place are shown.
const SHOWN_OF_A_PLACE: usize = 1;

/// What to draw.
#[derive(Debug, Clone)]
pub struct Draw {
    /// How many objects of each kind, and how many updates of each way.
    pub rounds: u64,
    /// The seed of the first round; each later round has the next one.
    pub seed: u64,
    /// Only this kind: `Pod`, or `v1/Pod`.
    pub kind: Option<String>,
}

/// What was drawn and what came of it.
#[derive(Debug)]
pub struct Drawn {
    /// A verdict for each case.
    pub summary: Summary,
    /// How many of them stock accepted.
    pub accepted: usize,
    /// How many differ in each place of a kind, the most frequent first.
    pub places: Vec<(String, usize)>,
}

/// Draws, asks both servers, and makes what differs smaller.
pub async fn run(servers: &Servers, draw: &Draw) -> Result<Drawn, SuiteError> {
    let mut kinds = schema::read(&servers.stock).await?;
    if let Some(name) = &draw.kind {
        kinds.retain(|kind| kind.is_called(name));
        if kinds.is_empty() {
            return Err(SuiteError::NothingToRun(name.clone()));
        }
    }
    let valid = valid::create(servers, &kinds).await?;
    let of_round = |seed: u64| {
        let ways = move |(kind, valid)| Way::ALL.into_iter().filter_map(move |way| Case::draw(kind, valid, way, seed));
        kinds.iter().zip(valid.iter().map(Option::as_ref)).flat_map(ways)
    };
    let cases = (draw.seed..draw.seed.saturating_add(draw.rounds)).flat_map(of_round);
    let outcomes: Vec<(Case<'_>, Outcome)> = futures::stream::iter(cases)
        .map(async |case| trial::judge(servers, &case).await.map(|outcome| (case, outcome)))
        .buffered(CONCURRENCY)
        .try_collect()
        .await?;
    verdicts(servers, outcomes).await
}

async fn verdicts(servers: &Servers, outcomes: Vec<(Case<'_>, Outcome)>) -> Result<Drawn, SuiteError> {
    let accepted = outcomes.iter().filter(|(_, outcome)| outcome.accepted).count();
    let mut summary = Summary::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (case, outcome) in outcomes {
        let mut verdict = Verdict::new(&case.sequence());
        verdict.compared = 1;
        verdict.again = case.command();
        if let Some(difference) = outcome.difference {
            let seen = places.entry(format!("{} {}", case.kind.title(), difference.place)).or_default();
            *seen += 1;
            if *seen <= SHOWN_OF_A_PLACE {
                show(servers, &case, difference, &mut verdict).await?;
            } else {
                let text = format!("in {}, as one above", difference.place);
                let Difference { request, .. } = difference;
                verdict.differences.push(report::Difference { step: 1, request, text, reason: None });
            }
        }
        summary.verdicts.push(verdict);
    }
    let mut places: Vec<(String, usize)> = places.into_iter().collect();
    places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Drawn { summary, accepted, places })
}

/// Shows the smallest content that still differs in the same place.
async fn show(
    servers: &Servers,
    case: &Case<'_>,
    difference: Difference,
    verdict: &mut Verdict,
) -> Result<(), SuiteError> {
    let stays = async |content: &serde_json::Value| {
        let outcome = trial::judge(servers, &case.with(content.clone())).await?;
        Ok::<_, SuiteError>(outcome.difference.is_some_and(|smaller| smaller.place == difference.place))
    };
    let content = smaller::make_smaller(case.content.clone(), stays).await?;
    let smallest = trial::judge(servers, &case.with(content.clone())).await?.difference;
    let Difference { request, stock, ours, place } = smallest.unwrap_or(difference);
    let request = format!("{request}, in {place}\n  {} {content}", case.name_of_content());
    verdict.add(1, &request, &readable(Some(&stock)), &readable(Some(&ours)), &[]);
    Ok(())
}
