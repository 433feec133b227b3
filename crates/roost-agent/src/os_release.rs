//! The operating system as it names itself in `os-release`. Only text is read here; which system is served stands in
//! [`crate::software`].

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Longer files are no `os-release`; real ones have less than two kilobytes.
const LARGEST: usize = 64 * 1024;

/// What an `os-release` file says, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OsRelease {
    /// The system's own identifier in lower case, such as `rhel`.
    pub id: String,
    /// The systems that it is made from, nearest first.
    pub id_like: Vec<String>,
    /// The version, such as `9.4`; rolling systems have none.
    pub version_id: String,
    /// The name of the version, such as `bookworm`.
    pub codename: String,
    /// The name for people.
    pub pretty_name: String,
    /// The variant, such as `coreos`.
    pub variant_id: String,
}

impl OsRelease {
    /// Reads the text of `os-release`. Lines that make no sense are passed over, as the shell would not do but every
    /// reader in the field does.
    pub fn parse(text: &str) -> Self {
        let text = text.get(..LARGEST).unwrap_or(text);
        let values: BTreeMap<&str, String> = text.lines().filter_map(assignment).collect();
        let value = |key: &str| values.get(key).cloned().unwrap_or_default();
        Self {
            id: value("ID").to_ascii_lowercase(),
            id_like: value("ID_LIKE").split_whitespace().map(str::to_ascii_lowercase).collect(),
            version_id: value("VERSION_ID"),
            codename: value("VERSION_CODENAME"),
            pretty_name: value("PRETTY_NAME"),
            variant_id: value("VARIANT_ID").to_ascii_lowercase(),
        }
    }

    /// The first number of the version.
    pub fn major(&self) -> Option<u32> {
        self.version_id.split('.').next()?.parse().ok()
    }
}

impl fmt::Display for OsRelease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pretty_name.as_str(), self.id.as_str()) {
            ("", "") => formatter.write_str("a system without a name"),
            ("", id) => write!(formatter, "{id} {}", self.version_id),
            (name, _) => formatter.write_str(name),
        }
    }
}

fn assignment(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    let (key, value) = line.split_once('=')?;
    if key.starts_with('#') || key.is_empty() {
        return None;
    }
    Some((key, unquoted(value)))
}

/// Takes off the shell's quotes and backslashes.
fn unquoted(value: &str) -> String {
    let inner = match value.as_bytes() {
        [quote @ (b'"' | b'\''), .., last] if quote == last => &value[1..value.len() - 1],
        _ => value,
    };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::OsRelease;

    #[test]
    fn quotes_comments_and_nonsense_are_read_as_the_shell_would() {
        let text = "# comment\nID='centos'\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"9\"\nPRETTY_NAME=\"A \\\"B\\\" \\$C\"\nnonsense\n=x\n";
        let release = OsRelease::parse(text);
        assert_eq!(release.id, "centos");
        assert_eq!(release.id_like, ["rhel", "fedora"]);
        assert_eq!(release.major(), Some(9));
        assert_eq!(release.pretty_name, "A \"B\" $C");
    }

    #[test]
    fn versions_that_are_no_numbers_have_no_major() {
        assert_eq!(OsRelease::parse("ID=arch\n").major(), None);
        assert_eq!(OsRelease::parse("ID=x\nVERSION_ID=rolling\n").major(), None);
        assert_eq!(OsRelease::parse("ID=ubuntu\nVERSION_ID=\"24.04\"\n").major(), Some(24));
    }

    #[test]
    fn a_single_quote_character_is_a_value() {
        assert_eq!(OsRelease::parse("ID=\"\n").id, "\"");
    }
}
