//! What fuzzers found, each input under a name that says what broke.

#[test]
fn a_time_in_protobuf_that_is_there_and_empty_was_lost() {
    let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x04\x1a\x02\x3a\x00";
    roost_fuzzing::protobuf(pod);
}

#[test]
fn a_time_in_protobuf_far_beyond_four_digits_of_a_year_was_lost() {
    let mut lease =
        b"k8s\0\x0a\x1f\x0a\x16coordination.k8s.io/v1\x12\x05Lease\x12\x16\x0a\x05\x0a\x03one\x12\x0d".to_vec();
    // A spec that was acquired in the year 139509884.
    lease.extend_from_slice(b"\x1a\x0b\x08\xa5\xeb\xff\xff\xff\xff\xe8\x07\x10\x00");
    roost_fuzzing::protobuf(&lease);
}

#[test]
fn keys_of_several_lines_were_written_as_yaml_that_does_not_read_back() {
    roost_fuzzing::document(br#"{"line\nbreak": 1, "a": {"other\nbreak": [[1], {"b": 2}]}}"#);
}

#[test]
fn a_fraction_with_underscores_was_text() {
    assert_eq!(roost_object::yaml::read(b".1_000").map(|document| document.value), Ok(serde_json::json!(0.1)));
}
