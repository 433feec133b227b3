//! How many nodes of a pool may be away, as its spec says it.

use serde_json::Value;

/// How a pool's nodes are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The hosts stay and restart what changed.
    InPlace {
        /// Nodes that may be away at once.
        max_unavailable: usize,
    },
    /// Machines go, and others come in their place.
    Replace {
        /// Machines that may be too many.
        max_surge: usize,
        /// Machines that may be missing.
        max_unavailable: usize,
    },
    /// Machines go when a person deletes them.
    OnDelete,
}

impl Strategy {
    /// Reads `spec.management` of a pool that wants so many nodes. What is absent is as upstream has it.
    pub(crate) fn of(management: &Value, wanted: usize) -> Self {
        if management["upgradeType"] == "InPlace" {
            let most = scaled(&management["inPlace"]["maxUnavailable"], wanted, Rounding::Down).unwrap_or(1);
            return Strategy::InPlace { max_unavailable: most.max(1) };
        }
        let replace = &management["replace"];
        if replace["strategy"] == "OnDelete" {
            return Strategy::OnDelete;
        }
        let rolling = &replace["rollingUpdate"];
        let max_surge = scaled(&rolling["maxSurge"], wanted, Rounding::Up).unwrap_or(1);
        let max_unavailable = scaled(&rolling["maxUnavailable"], wanted, Rounding::Down).unwrap_or(0);
        // Percentages of few nodes may both come to nothing, and then nothing would ever move.
        let is_stuck = max_surge == 0 && max_unavailable == 0;
        Strategy::Replace { max_surge, max_unavailable: if is_stuck { 1 } else { max_unavailable } }
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

/// A number, or a percentage of a number.
fn scaled(value: &Value, of: usize, rounding: Rounding) -> Option<usize> {
    if let Some(number) = value.as_u64() {
        return usize::try_from(number).ok();
    }
    let percent: usize = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    let product = percent.checked_mul(of)?;
    Some(match rounding {
        Rounding::Up => product.div_ceil(100),
        Rounding::Down => product / 100,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_percentages_and_nothing() {
        let replace = |max_surge, max_unavailable| Strategy::Replace { max_surge, max_unavailable };
        let in_place = |max_unavailable| Strategy::InPlace { max_unavailable };
        let rolling = |surge: Value, unavailable: Value| json!({"upgradeType": "Replace", "replace": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}});
        for (management, wanted, strategy) in [
            (json!({"upgradeType": "Replace"}), 3, replace(1, 0)),
            (json!({"upgradeType": "Replace", "replace": {"strategy": "OnDelete"}}), 3, Strategy::OnDelete),
            (rolling(json!("25%"), json!("25%")), 6, replace(2, 1)),
            (rolling(json!("0%"), json!("10%")), 6, replace(0, 1)),
            (rolling(json!(0), json!(2)), 6, replace(0, 2)),
            (json!({"upgradeType": "InPlace"}), 6, in_place(1)),
            (json!({"upgradeType": "InPlace", "inPlace": {"maxUnavailable": "50%"}}), 6, in_place(3)),
            (json!({"upgradeType": "InPlace", "inPlace": {"maxUnavailable": "1%"}}), 6, in_place(1)),
        ] {
            assert_eq!(Strategy::of(&management, wanted), strategy, "{management}");
        }
    }
}
