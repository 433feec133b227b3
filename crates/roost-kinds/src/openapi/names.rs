//! Names that documents give to operations, groups of operations and schemas.

/// The verbs that names of operations begin with.
const VERBS: [&str; 10] = ["get", "read", "replace", "patch", "delete", "watch", "connect", "list", "create", "log"];

/// Leaves out what is no letter or digit, and begins a new word after it.
fn identifier(text: &str, capital: bool) -> String {
    let mut capital = capital;
    let mut found = String::with_capacity(text.len());
    for (index, letter) in text.char_indices() {
        if letter.is_alphabetic() || letter == '_' || (index != 0 && letter.is_numeric()) {
            if capital {
                found.extend(letter.to_uppercase());
            } else {
                found.push(letter);
            }
            capital = false;
        } else {
            capital = true;
        }
    }
    found
}

/// The name of an operation with the group and version of its path in it, and the tag that groups it with others.
pub(super) fn operation(plain: &str, path: &str) -> (String, String) {
    let verb = VERBS.into_iter().find(|verb| plain.starts_with(verb)).unwrap_or_default();
    let rest = &plain[verb.len()..];
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if parts[0] == "api" {
        parts.splice(0..1, ["apis", "core"]);
    }
    let (mut name, mut tag) = (verb.to_owned(), String::new());
    if parts.len() >= 2 && parts[0] == "apis" {
        let group = parts[1].strip_suffix(".k8s.io").unwrap_or(parts[1]);
        name.push_str(&identifier(group, true));
        tag.push_str(&identifier(group, false));
        if let Some(version) = parts.get(2) {
            name.push_str(&identifier(version, true));
            tag.push('_');
            tag.push_str(&identifier(version, false));
        }
    } else {
        tag = identifier(parts[0], false);
    }
    name.push_str(&identifier(rest, true));
    (name, tag)
}

/// A word with a capital first letter, and small ones after it.
pub(super) fn title(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters.flat_map(char::to_lowercase)).collect(),
        None => String::new(),
    }
}

/// ` a Pod`, ` an Ingress`, ` Endpoints`.
pub(super) fn with_article(noun: &str) -> String {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        return format!(" {noun}");
    }
    match noun.chars().next().map(|first| first.to_ascii_lowercase()) {
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!(" an {noun}"),
        _ => format!(" a {noun}"),
    }
}

/// The schema of a custom kind: the group's name turned around, the version, the kind.
pub(super) fn custom_schema(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    format!("{}.{version}.{kind}", parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_after_their_group_and_version() {
        for (plain, path, name, tag) in [
            ("listNamespacedPod", "/api/v1/namespaces/{namespace}/pods", "listCoreV1NamespacedPod", "core_v1"),
            (
                "deletecollectionNamespacedRole",
                "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
                "deleteRbacAuthorizationV1CollectionNamespacedRole",
                "rbacAuthorization_v1",
            ),
            ("getAPIVersions", "/apis/", "getAPIVersions", "apis"),
            ("getAPIVersions", "/api/", "getCoreAPIVersions", "core"),
            ("getAPIGroup", "/apis/apps/", "getAppsAPIGroup", "apps"),
            ("getCodeVersion", "/version/", "getCodeVersion", "version"),
        ] {
            assert_eq!(operation(plain, path), (name.to_owned(), tag.to_owned()), "{plain} {path}");
        }
    }

    #[test]
    fn nouns_get_their_article() {
        for (noun, expected) in [
            ("Pod", " a Pod"),
            ("Ingress", " an Ingress"),
            ("Endpoints", " Endpoints"),
            ("StorageClass", " a StorageClass"),
        ] {
            assert_eq!(with_article(noun), expected);
        }
    }
}
