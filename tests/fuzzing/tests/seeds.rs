//! Every seed through its target: the requests of the differential suite hold what must hold of all input.

use std::path::Path;

use roost_fuzzing::{TARGETS, seeds};

#[test]
fn every_target_has_seeds_and_takes_them() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../differential");
    let seeds = seeds(&directory).expect("the differential suite");
    for (name, target) in TARGETS {
        let inputs = seeds.get(name).map(Vec::as_slice).unwrap_or_default();
        assert!(!inputs.is_empty(), "{name} has no seeds");
        for input in inputs {
            println!("{name}: {}", String::from_utf8_lossy(input));
            target(input);
        }
    }
}

#[test]
fn every_target_is_a_program_of_libfuzzer() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("a manifest");
    let programs =
        manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""));
    let mut programs: Vec<&str> = programs.collect();
    let mut targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    programs.sort_unstable();
    targets.sort_unstable();
    assert_eq!(programs, targets);
}
