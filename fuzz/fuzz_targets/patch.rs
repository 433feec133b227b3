#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| roost_tests::fuzzing::patch(data));
