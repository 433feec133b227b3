//! The name of an infrastructure: the cluster's name, shortened, and a few random characters.

/// Letters and digits that form no words and are not taken for one another.
pub(crate) const INFRA_ID_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How much of the cluster's name is kept.
const KEPT: usize = 21;

/// The name for a cluster, with the random characters given.
pub(crate) fn infra_id(cluster: &str, random: &str) -> String {
    let mut name = String::with_capacity(cluster.len());
    for character in cluster.chars() {
        if character != '-' || !name.ends_with('-') {
            name.push(character);
        }
    }
    name.truncate(KEPT);
    format!("{}-{random}", name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::infra_id;

    #[test]
    fn names_are_cut_and_dashes_joined() {
        assert_eq!(infra_id("example", "sffhb"), "example-sffhb");
        assert_eq!(infra_id("a--b", "sffhb"), "a-b-sffhb");
        assert_eq!(infra_id("a-very-long-name-of-a-cluster", "sffhb"), "a-very-long-name-of-a-sffhb");
        assert_eq!(infra_id("abcdefghijklmnopqrst-uvw", "sffhb"), "abcdefghijklmnopqrst-sffhb");
    }
}
