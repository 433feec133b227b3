//! The headers that ask for another identity.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use roost_object::Status;
use roost_object::field::quote;

use crate::user::User;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// Whether a header asks for another identity. None of them may reach anyone behind authentication.
pub fn is_impersonation_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(&*name, USER | GROUP | UID) || name.starts_with(EXTRA)
}

/// The user that the headers ask for; none when they ask for nobody. Names may be in any case, values are taken as they
/// are.
pub fn wanted_user<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Option<User>, Status> {
    let mut name = None;
    let mut uid = None;
    let mut groups = Vec::new();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        let header = header.to_ascii_lowercase();
        let value = || String::from_utf8_lossy(value).into_owned();
        match &*header {
            USER => name = name.or_else(|| Some(value())),
            UID => uid = uid.or_else(|| Some(value())),
            GROUP => groups.push(value()),
            _ => {
                if let Some(key) = header.strip_prefix(EXTRA) {
                    extra.entry(decode_key(key)).or_default().push(value());
                }
            }
        }
    }
    let user = User { name: name.unwrap_or_default(), uid: uid.unwrap_or_default(), groups, extra };
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    Err(Status::bad_request(format!("requested {} without impersonating a user name", describe(&user))))
}

/// Undoes percent encoding; a key that is not encoded properly is taken as it is.
fn decode_key(key: &str) -> String {
    let is_encoded = |rest: &str| {
        let mut digits = rest.bytes().take(2);
        digits.len() == 2 && digits.all(|byte| byte.is_ascii_hexdigit())
    };
    if !key.split('%').skip(1).all(is_encoded) {
        return key.to_owned();
    }
    percent_decode_str(key).decode_utf8().map_or_else(|_| key.to_owned(), std::borrow::Cow::into_owned)
}

/// The user as the stock server prints it, in Go's syntax.
fn describe(user: &User) -> String {
    let list = |items: &[String]| {
        let quoted: Vec<String> = items.iter().map(|item| quote(item)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let entries: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values))).collect();
    let extra = if entries.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    let (name, uid) = (quote(&user.name), quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(headers: &[(&str, &str)]) -> Result<Option<User>, String> {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        wanted_user(headers).map_err(|status| status.message)
    }

    #[test]
    fn headers_become_a_user() {
        assert_eq!(read(&[("accept", "x")]), Ok(None));
        assert_eq!(read(&[("Impersonate-User", "")]), Ok(None));
        let user = read(&[
            ("Impersonate-User", "bob"),
            ("impersonate-user", "ignored"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Extra-Acme.com%2FProject", "x"),
            ("Impersonate-Extra-acme.com%2fproject", "y"),
            ("Impersonate-Extra-Bad%zz", "z"),
        ]);
        let user = user.unwrap().unwrap();
        assert_eq!((&*user.name, &*user.uid), ("bob", "7"));
        assert_eq!(user.groups, ["a", "b"]);
        let extra: Vec<(&str, Vec<&str>)> =
            user.extra.iter().map(|(key, values)| (&**key, values.iter().map(String::as_str).collect())).collect();
        assert_eq!(extra, [("acme.com/project", vec!["x", "y"]), ("bad%zz", vec!["z"])]);
    }

    #[test]
    fn attributes_without_a_name_are_refused_in_stock_words() {
        assert_eq!(
            read(&[
                ("Impersonate-Group", "g"),
                ("Impersonate-Group", "h"),
                ("Impersonate-Extra-Foo", "b\"x"),
                ("Impersonate-Extra-Abc", "b")
            ])
            .unwrap_err(),
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g", "h"}, Extra:map[string][]string{"abc":[]string{"b"}, "foo":[]string{"b\"x"}}} without impersonating a user name"#
        );
        assert_eq!(
            read(&[("Impersonate-Uid", "g")]).unwrap_err(),
            r#"requested &user.DefaultInfo{Name:"", UID:"g", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"#
        );
    }

    #[test]
    fn the_headers_are_known_in_any_case() {
        for name in ["Impersonate-User", "impersonate-group", "IMPERSONATE-UID", "Impersonate-Extra-x"] {
            assert!(is_impersonation_header(name), "{name}");
        }
        assert!(!is_impersonation_header("impersonate-users"));
    }

    proptest! {
        #[test]
        fn any_header_is_answered(name in "(?i)impersonate-(user|group|uid|extra-)[\\x21-\\x7e%é]{0,12}", value in any::<Vec<u8>>()) {
            let _ = wanted_user([(&*name, &*value)]);
        }
    }
}
