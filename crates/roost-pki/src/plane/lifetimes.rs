//! How long keys live, when they are renewed, and how fast authorities are replaced.

use jiff::{SignedDuration, Timestamp};

use crate::certificate::Certificate;

/// The annotation with the lifetime of leaves, a duration such as `8760h`.
pub const VALIDITY_ANNOTATION: &str = "hypershift.openshift.io/certificate-validity";
/// The annotation with the part of a lifetime that is left when a leaf is renewed, a number such as `0.30`.
pub const RENEWAL_ANNOTATION: &str = "hypershift.openshift.io/certificate-renewal";
/// The annotation with how long each stage of a rotation lasts at least, a duration such as `5m`.
pub const PACE_ANNOTATION: &str = "roost.dev/rotation-pace";

const DAY: SignedDuration = SignedDuration::from_hours(24);
const YEAR: SignedDuration = SignedDuration::from_hours(24 * 365);
/// Shorter lives would be over before the renewed certificate has reached all its readers.
const SHORTEST_LEAF: SignedDuration = SignedDuration::from_mins(10);
/// Leaves live at most half as long as their authority, so that a rotation of it always has time.
const LONGEST_LEAF: SignedDuration = SignedDuration::from_hours(24 * 365 * 5);
/// The part of an authority's life that is left when a rotation no longer waits for confirmation: half a year of ten.
const LAST_CALL: Fraction = Fraction::millionths(50_000);
/// The paces that a hosted cluster may ask for. A stage that is over before clients look again would lock them out.
const PACES: std::ops::RangeInclusive<SignedDuration> =
    SignedDuration::from_secs(1)..=SignedDuration::from_hours(24 * 30);
const MILLION: i128 = 1_000_000;

/// Why an annotation about lifetimes cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifetimeError {
    /// It is no duration.
    #[error("{VALIDITY_ANNOTATION}: {0:?} is no duration; write for instance 8760h")]
    Validity(String),
    /// It is too short or too long.
    #[error("{VALIDITY_ANNOTATION}: {0} must be between 10 minutes and 5 years")]
    ValidityOutOfRange(String),
    /// It is no part of one.
    #[error("{RENEWAL_ANNOTATION}: {0:?} is no number between 0 and 1; write for instance 0.30")]
    Renewal(String),
    /// It is no duration, or one that is too short or too long.
    #[error("{PACE_ANNOTATION}: {0:?} is no duration between 1 second and 30 days; write for instance 5m")]
    Pace(String),
}

/// A part of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u32);

impl Fraction {
    /// A number of millionths; more than a whole is a whole.
    pub const fn millionths(parts: u32) -> Self {
        Self(if parts > 1_000_000 { 1_000_000 } else { parts })
    }

    fn of(self, whole: SignedDuration) -> SignedDuration {
        SignedDuration::from_secs((i128::from(whole.as_secs()) * i128::from(self.0) / MILLION) as i64)
    }
}

/// How long certificates live, and when they are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lifetimes {
    /// Of an authority.
    pub authority: SignedDuration,
    /// Of everything that an authority of the plane signs for the plane itself.
    pub leaf: SignedDuration,
    /// Of the longest certificate that the signer of requests gives to nodes and others.
    pub requested: SignedDuration,
    /// The part of a leaf's life that is left when it is renewed.
    pub renewal: Fraction,
    /// The part of an authority's life after which it is replaced without being asked.
    pub rotation: Fraction,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            authority: YEAR * 10,
            leaf: YEAR,
            requested: YEAR,
            renewal: Fraction::millionths(333_333),
            rotation: Fraction::millionths(800_000),
        }
    }
}

impl Lifetimes {
    /// The usual lifetimes, changed by the annotations of a hosted cluster.
    pub fn from_annotations<'a>(find: impl Fn(&str) -> Option<&'a str>) -> Result<Self, LifetimeError> {
        let mut lifetimes = Self::default();
        if let Some(text) = find(VALIDITY_ANNOTATION) {
            let leaf = go_duration(text).ok_or_else(|| LifetimeError::Validity(text.to_owned()))?;
            if !(SHORTEST_LEAF..=LONGEST_LEAF).contains(&leaf) {
                return Err(LifetimeError::ValidityOutOfRange(text.to_owned()));
            }
            lifetimes.leaf = leaf;
        }
        if let Some(text) = find(RENEWAL_ANNOTATION) {
            let part: Option<f64> = text.parse().ok().filter(|part| *part > 0.0 && *part < 1.0);
            let part = part.ok_or_else(|| LifetimeError::Renewal(text.to_owned()))?;
            lifetimes.renewal = Fraction::millionths((part * 1e6) as u32);
        }
        Ok(lifetimes)
    }

    /// When a leaf is due for renewal.
    pub fn renewal_of(&self, leaf: &Certificate) -> Timestamp {
        let life = leaf.not_before().duration_until(leaf.not_after());
        leaf.not_after().checked_sub(self.renewal.of(life)).unwrap_or(Timestamp::MIN)
    }

    /// From when on an authority is replaced even if nobody confirms that the next one is known everywhere.
    pub fn last_call_of(&self, authority: &Certificate) -> Timestamp {
        let life = authority.not_before().duration_until(authority.not_after());
        authority.not_after().checked_sub(LAST_CALL.of(life)).unwrap_or(Timestamp::MIN)
    }

    /// When an authority is due for replacement.
    pub fn rotation_of(&self, authority: &Certificate) -> Timestamp {
        let life = authority.not_before().duration_until(authority.not_after());
        authority.not_before().checked_add(self.rotation.of(life)).unwrap_or(Timestamp::MAX)
    }
}

/// How long each stage of a rotation lasts at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// From the last write of a trust bundle until anything shows a certificate of the new authority. Whoever reads
    /// files again once a minute, as kubelets and mounted volumes do, has done so by then.
    pub announce: SignedDuration,
    /// From the last write of a new certificate until the old authority is no longer trusted.
    pub settle: SignedDuration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { announce: SignedDuration::from_mins(5), settle: SignedDuration::from_mins(5) }
    }
}

impl Pace {
    /// The usual pace, or the one that the annotation of a hosted cluster asks for.
    pub fn from_annotations<'a>(find: impl Fn(&str) -> Option<&'a str>) -> Result<Self, LifetimeError> {
        let Some(text) = find(PACE_ANNOTATION) else { return Ok(Self::default()) };
        let pace = go_duration(text).filter(|pace| PACES.contains(pace));
        let pace = pace.ok_or_else(|| LifetimeError::Pace(text.to_owned()))?;
        Ok(Self { announce: pace, settle: pace })
    }
}

/// Reads a duration as Go writes them: numbers with units, `1h30m`, `90m`, `0.5h`.
fn go_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut seconds = 0.0;
    if rest.is_empty() || rest.len() > 64 {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        seconds += number
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" | "μs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = after;
    }
    SignedDuration::try_from_secs_f64(seconds).ok().filter(|duration| *duration < DAY * 40_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(validity: Option<&'static str>, renewal: Option<&'static str>) -> Result<Lifetimes, LifetimeError> {
        Lifetimes::from_annotations(|name| match name {
            VALIDITY_ANNOTATION => validity,
            RENEWAL_ANNOTATION => renewal,
            _ => None,
        })
    }

    #[test]
    fn annotations_are_followed() {
        assert_eq!(read(None, None), Ok(Lifetimes::default()));
        assert_eq!(read(Some("8760h"), None), Ok(Lifetimes::default()));
        assert_eq!(read(Some("1h30m"), None).unwrap().leaf, SignedDuration::from_mins(90));
        assert_eq!(read(Some("1.5h"), Some("0.30")).unwrap().renewal, Fraction::millionths(300_000));
        for text in ["", "1", "1y", "h", "-1h", "1h ", "x", "1..5h", "99999999999999999999999h"] {
            assert_eq!(read(Some(text), None), Err(LifetimeError::Validity(text.to_owned())), "{text}");
        }
        for text in ["1s", "9m", "90000h"] {
            assert_eq!(read(Some(text), None), Err(LifetimeError::ValidityOutOfRange(text.to_owned())));
        }
        for text in ["", "0", "1", "-0.1", "30%", "NaN", "inf"] {
            assert_eq!(read(None, Some(text)), Err(LifetimeError::Renewal(text.to_owned())));
        }
    }

    #[test]
    fn a_pace_may_be_asked_for() {
        let read = |text| Pace::from_annotations(|name| if name == PACE_ANNOTATION { text } else { None });
        assert_eq!(read(None), Ok(Pace::default()));
        assert_eq!(read(Some("90s")).unwrap().settle, SignedDuration::from_secs(90));
        for text in ["0s", "soon", "10000h"] {
            assert_eq!(read(Some(text)), Err(LifetimeError::Pace(text.to_owned())));
        }
    }
}
