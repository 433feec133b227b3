//! Versions of the Ignition spec, and which of them a client asks for.

use std::fmt;
use std::str::FromStr;

/// The media type of a config, of which clients name the version that they read best.
const MEDIA_TYPE: &str = "application/vnd.coreos.ignition+json";

/// A version of the spec that is understood here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpecVersion(u8);

impl SpecVersion {
    /// 3.0.0, the oldest.
    pub const V3_0: Self = Self(0);
    /// 3.1.0, which brought headers and proxies.
    pub const V3_1: Self = Self(1);
    /// 3.2.0, which user-data is written in.
    pub const V3_2: Self = Self(2);
    /// 3.3.0, which brought kernel arguments.
    pub const V3_3: Self = Self(3);
    /// 3.4.0.
    pub const V3_4: Self = Self(4);
    /// 3.5.0, the newest.
    pub const V3_5: Self = Self(5);
    /// All of them, the oldest first.
    pub const ALL: [Self; 6] = [Self::V3_0, Self::V3_1, Self::V3_2, Self::V3_3, Self::V3_4, Self::V3_5];

    pub(crate) fn minor(self) -> u8 {
        self.0
    }

    /// What an `Accept` header asks for: the highest version that it names and that is known here. A client of a later
    /// 3.x than ours reads ours too. None when it names no version, which accepts any.
    ///
    /// `Err` when it names only versions that cannot be served.
    pub fn from_accept(header: &str) -> Result<Option<Self>, InvalidVersion> {
        let mut wanted: Option<Self> = None;
        let mut refused = None;
        let mut accepts_others = false;
        for range in header.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default();
            if !media_type.eq_ignore_ascii_case(MEDIA_TYPE) {
                accepts_others |= matches!(media_type, "*/*" | "application/*" | "application/json");
                continue;
            }
            let version = parts.find_map(|parameter| {
                let (name, value) = parameter.split_once('=')?;
                name.trim().eq_ignore_ascii_case("version").then(|| value.trim().trim_matches('"'))
            });
            let Some(version) = version else {
                accepts_others = true;
                continue;
            };
            match Self::at_most(version) {
                Some(version) => wanted = wanted.max(Some(version)),
                None => refused = Some(InvalidVersion(shortened(version))),
            }
        }
        match (wanted, refused) {
            (Some(version), _) => Ok(Some(version)),
            (None, Some(refused)) if !accepts_others => Err(refused),
            _ => Ok(None),
        }
    }

    /// The highest version that a reader of this one understands: readers of 3.x read all earlier 3.y.
    fn at_most(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let (major, minor) = (numbers.next()?, numbers.next()?);
        let patch_is_number = numbers.next().is_some_and(|patch| patch.split('-').next().is_some_and(is_number));
        if major != "3" || !is_number(minor) || !patch_is_number || numbers.next().is_some() {
            return None;
        }
        let minor = minor.parse::<u8>().unwrap_or(u8::MAX);
        Some(Self(minor.min(Self::V3_5.0)))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A stranger's text, no longer than is useful in a message.
fn shortened(text: &str) -> String {
    text.chars().take(32).collect()
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "3.{}.0", self.0)
    }
}

/// The text names no version of the spec that is understood here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no supported version of the Ignition spec; supported are 3.0.0 to 3.5.0")]
pub struct InvalidVersion(String);

impl FromStr for SpecVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|version| text == version.to_string()).ok_or_else(|| InvalidVersion(shortened(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::SpecVersion;

    #[test]
    fn versions_are_read_as_they_are_written() {
        for version in SpecVersion::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        for text in ["", "3.2", "2.2.0", "3.6.0", "3.2.0-experimental", "3.2.1", " 3.2.0", "03.2.0"] {
            assert!(text.parse::<SpecVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn accept_names_the_version() {
        let asked = |header: &str| SpecVersion::from_accept(header).map_err(|_| ());
        let media = "application/vnd.coreos.ignition+json";
        assert_eq!(asked(&format!("{media};version=3.3.0, */*;q=0.1")), Ok(Some(SpecVersion::V3_3)));
        assert_eq!(asked(&format!("{media}; version=3.0.0")), Ok(Some(SpecVersion::V3_0)));
        assert_eq!(asked(&format!("{media};version=\"3.1.0\"")), Ok(Some(SpecVersion::V3_1)));
        assert_eq!(asked(&format!("{media};version=3.6.0-experimental, */*")), Ok(Some(SpecVersion::V3_5)));
        assert_eq!(asked(&format!("{media};version=3.999.0")), Ok(Some(SpecVersion::V3_5)));
        assert_eq!(asked(&format!("{media};version=3.2.0, {media};version=3.4.0")), Ok(Some(SpecVersion::V3_4)));
        assert_eq!(asked(&format!("{media};version=2.3.0, {media};version=3.1.0")), Ok(Some(SpecVersion::V3_1)));
        assert_eq!(asked(&format!("{media};version=2.3.0")), Err(()));
        assert_eq!(asked(&format!("{media};version=2.3.0, */*;q=0.1")), Ok(None));
        assert_eq!(asked(&format!("{media};version=3")), Err(()));
        assert_eq!(asked("*/*"), Ok(None));
        assert_eq!(asked(""), Ok(None));
        assert_eq!(asked(media), Ok(None));
        assert_eq!(asked("application/json"), Ok(None));
    }
}
