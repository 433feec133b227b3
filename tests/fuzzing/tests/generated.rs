//! What reads outside input, under generated input, for a bounded time; and what fuzzers found, each as a test of its own.

use proptest::prelude::*;
use roost_fuzzing as fuzzing;

/// Text made of the words and signs that the languages of these parsers are made of: random bytes rarely get far.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(vec![
            "{", "}", "[", "]", "(", ")", "\"", "'", ":", ",", ".", "..", "*", "?", "@", "$", "!", "!=", "=", "==", "<", ">",
            "&&", "||", "+", "-", "/", "%", "\\", "\n", " ", "\t", "\0", "~1", "~0", "in", "notin", "exists", "self", "oldSelf",
            "has", "all", "map", "filter", "size", "matches", "true", "false", "null", "\"op\":\"add\"", "\"op\":\"copy\"",
            "\"op\":\"move\"", "\"op\":\"test\"", "\"path\":\"/a/-\"", "\"from\":\"/a\"", "\"value\":", "\"a\":", "\"spec\":",
            "\"containers\":", "\"$patch\":\"delete\"", "\"$retainKeys\":", "\"$setElementOrder/containers\":", "\"name\":",
            "0", "1", "-1", "9223372036854775808", "1e400", "0x1F", "a", "b", "é", "\u{10FFFF}", "metadata.name", "&x", "*x",
            "- ", "--- ", "|", "!!int", "eyJhbGciOiJFUzI1NiJ9", "-----BEGIN CERTIFICATE REQUEST-----\n", "MIIB",
            "-----END CERTIFICATE REQUEST-----\n",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

/// One document and one patch, or any two things with a zero byte between them.
fn document_and_patch() -> impl Strategy<Value = Vec<u8>> {
    (words(), words()).prop_map(|(document, patch)| format!("{document}\0{patch}").into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patches(data in document_and_patch()) {
        fuzzing::patch(&data);
    }

    #[test]
    fn patches_of_a_pod(patch in words()) {
        let pod = r#"{"a":[1,{"b":2}],"spec":{"containers":[{"name":"a"},{"name":"b","ports":[{"containerPort":1}]}]}}"#;
        fuzzing::patch(format!("{pod}\0[{{{patch}}}]").as_bytes());
        fuzzing::patch(format!("{pod}\0{{{patch}}}").as_bytes());
    }

    #[test]
    fn selectors(text in words()) {
        fuzzing::selector(text.as_bytes());
    }

    #[test]
    fn expressions(text in words()) {
        fuzzing::expression(text.as_bytes());
    }

    #[test]
    fn json_paths(text in words()) {
        fuzzing::json_path(text.as_bytes());
        fuzzing::json_path(format!("{{{text}}}").as_bytes());
        fuzzing::json_path(format!(".{text}").as_bytes());
    }

    #[test]
    fn certificate_requests(data in prop::collection::vec(any::<u8>(), 0..600), text in words()) {
        fuzzing::certificate_request(&data);
        fuzzing::certificate_request(text.as_bytes());
    }

    #[test]
    fn tokens(text in words()) {
        fuzzing::token(text.as_bytes());
        fuzzing::token(format!("eyJhbGciOiJFUzI1NiJ9.{text}.c2ln").as_bytes());
    }

    #[test]
    fn documents(data in prop::collection::vec(any::<u8>(), 0..600), text in words()) {
        fuzzing::document(&data);
        fuzzing::document(text.as_bytes());
    }
}
