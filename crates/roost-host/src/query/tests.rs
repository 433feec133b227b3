//! Queries about a host as people write them, and those that must be refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn host() -> Value {
    json!({
        "hostname": "node-1",
        "cpu": {"count": 8, "architecture": "x86_64", "flags": ["fpu", "vmx"], "modelName": "Intel(R) Xeon(R) Gold 6230"},
        "memory": {"physicalBytes": 34_359_738_368_i64},
        "disks": [
            {"name": "sda", "driveType": "HDD", "sizeBytes": 1_000_000_000_000_i64, "installationEligibility": {"eligible": true}},
            {"name": "nvme0n1", "driveType": "SSD", "sizeBytes": 480_000_000_000_i64, "installationEligibility": {"eligible": false}},
        ],
        "interfaces": [{"name": "eth0", "macAddress": "52:54:00:aa:00:01", "speedMbps": 25000, "ipV4Addresses": ["192.0.2.5/24"]}],
        "systemVendor": {"manufacturer": "Dell Inc.", "virtual": false},
    })
}

fn ask(query: &str) -> Result<bool, QueryError> {
    Query::parse(query)?.is_match(&host())
}

#[test]
fn what_is_so_of_a_host_is_answered_with_yes() {
    for query in [
        ".cpu.count == 8 and .memory.physicalBytes >= 17179869184 and .memory.physicalBytes < 68719476736",
        ".cpu.count >= 4",
        "[.disks[] | select(.driveType == \"SSD\")] | length > 0",
        "any(.disks[]; .sizeBytes > 5e11)",
        ".disks | map(.sizeBytes) | add > 1000000000000",
        ".disks | any(.driveType == \"SSD\")",
        ".disks | all(.sizeBytes > 100)",
        "all(.interfaces[]; .speedMbps >= 10000)",
        ".cpu.flags | index(\"vmx\") == 1 and index(\"svm\") == null",
        ".cpu.flags | contains([\"vmx\"])",
        "\"vmx\" | IN(\"svm\", \"vmx\")",
        ".cpu.flags | any(. == \"vmx\" or . == \"svm\")",
        ".cpu.modelName | test(\"xeon.*62[0-9]{2}\"; \"i\")",
        ".systemVendor.manufacturer | startswith(\"Dell\")",
        ".systemVendor.virtual | not",
        "(.gpus // []) | length == 0",
        ".gpus | length == 0",
        "[.interfaces[].ipV4Addresses[] | startswith(\"192.0.2.\")] | any",
        ".cpu.architecture as $a | [\"x86_64\", \"arm64\"] | any(. == $a)",
        "if .cpu.count > 16 then false elif .cpu.count > 4 then true else false end",
        "[.disks[] | {name, size: .sizeBytes}] | sort_by(.size) | .[0].name == \"nvme0n1\"",
        "\"\\(.hostname)-\\(.cpu.count)\" == \"node-1-8\"",
        ".disks | group_by(.driveType) | length == 2",
        ".disks | max_by(.sizeBytes).name == \"sda\"",
        "[.disks[].driveType] | unique == [\"HDD\", \"SSD\"]",
        ".cpu | has(\"count\")",
        ".cpu | to_entries | map(.key) | contains([\"flags\"])",
        "[range(3)] == [0, 1, 2]",
        "[limit(2; 1, 2, 3)] == [1, 2]",
        "first(.disks[] | select(.driveType == \"SSD\")) | .name | endswith(\"n1\")",
        "[.. | numbers] | length > 3",
        ".disks[-1].name == \"nvme0n1\" and .disks[5] == null",
        ".hostname[0:4] == \"node\"",
        "(.memory.physicalBytes / 1073741824 | floor) == 32",
        "try error(\"no\") catch . == \"no\"",
        "7 % 4 == 3 and 2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and -1 < 0",
        "null < false and false < true and true < 0 and 0 < \"\" and \"\" < [] and [] < {}",
        "# what it asks\n.cpu.count == 8",
        ".hostname | split(\"-\") | .[1] | tonumber == 1",
        ".disks | map(select(.installationEligibility.eligible)) | length == 1",
        "isempty(.gpus[]?)",
        "[.disks[] | .name, .driveType] | join(\" \") == \"sda HDD nvme0n1 SSD\"",
    ] {
        assert_eq!(ask(query), Ok(true), "{query}");
    }
}

#[test]
fn what_is_not_so_and_what_is_no_answer_is_no() {
    for query in [".cpu.count == 9", ".hostname", "null", ".cpu.count", ".none.of.this", "[true]"] {
        assert_eq!(ask(query), Ok(false), "{query}");
    }
}

#[test]
fn what_cannot_be_answered_is_an_error_with_words() {
    for (query, words) in [
        (".disks[].sizeBytes > 1", "multiple values"),
        (".gpus[]? | true", "no values"),
        (".hostname.name", "expected an object but got: string (\"node-1\")"),
        (".cpu[0]", "expected an array but got: object"),
        ("1 + \"a\"", "cannot add: number (1) and string (\"a\")"),
        ("error(\"broken\")", "broken"),
        (".hostname | test(\"(\")", "invalid regular expression"),
        ("1 / 0", "cannot divide"),
        ("[range(1e18)] | length > 1", "steps"),
    ] {
        let error = ask(query).unwrap_err().to_string();
        assert!(error.contains(words), "{query}: {error}");
    }
}

#[test]
fn what_is_no_query_is_refused_with_its_place() {
    for (query, words) in [
        ("", "ends too early"),
        (".cpu.count = 8", "equality is =="),
        (".cpu.count == ", "ends too early"),
        ("(.cpu", "ends too early"),
        ("$x", "not defined"),
        ("frobnicate(1)", "no function frobnicate/1"),
        ("def f: f; f", "def is not supported"),
        ("reduce .disks[] as $d (0; . + 1)", "reduce is not supported"),
        ("1 < 2 < 3", "chained"),
        ("\"open", "ends too early"),
        (".cpu | ]", "']' is not expected"),
    ] {
        let error = Query::parse(query).unwrap_err().to_string();
        assert!(error.contains(words), "{query}: {error}");
    }
    assert_eq!(Query::parse(&"1+".repeat(5000)).unwrap_err(), QueryError::TooLong);
}

#[test]
fn what_grows_without_end_is_stopped_on_a_small_stack() {
    let pairs = ["(1,1)"; 60].join("|");
    let doubled = format!("[1]{}", "|.+.".repeat(60));
    let shared = format!("1{} | tostring | length > 0", "|[.,.]".repeat(40));
    let deep = format!("{}1{}", "(".repeat(2000), ")".repeat(2000));
    let chain = format!("1{}", "|.".repeat(1500));
    let minus = format!("{}1", "-".repeat(3000));
    let sums = format!("{}1{}", "(".repeat(100), "+1+1+1+1)".repeat(100));
    let checked = std::thread::Builder::new().stack_size(1 << 21).spawn(move || {
        for query in [pairs, doubled, shared, deep, chain, minus, sums] {
            let outcome = ask(&query);
            assert!(outcome.is_err(), "{query}: {outcome:?}");
        }
    });
    checked.unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_an_error(text in "[a-z.$\\[\\](){}|,:;?\"\\\\+*/%<>=! 0-9-]{0,60}") {
        let _ = ask(&text);
    }

    #[test]
    fn any_words_are_a_query_or_an_error(words in prop::collection::vec(prop::sample::select(vec![
        ".", ".disks", "[]", "[", "]", "(", ")", "|", ",", "map", "select", "any", "sort_by", "length", "\"a\"", "1", "-", "+", "==",
        "as", "$x", "if", "then", "else", "end", "?", "//", "and", "not", "..", "first", "limit", ";", "{", "}", ":", "add", "flatten",
    ]), 0..24)) {
        let _ = ask(&words.join(" "));
    }
}
