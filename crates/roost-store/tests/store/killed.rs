//! A process that is killed while it writes, with the same checker that can be run for hours by hand.

use std::process::Command;

#[test]
fn no_acknowledged_write_is_lost_when_the_writer_is_killed() {
    let tests = std::env::current_exe().unwrap();
    let crash = tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples/crash");
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(crash).arg("6").arg(directory.path().join("store")).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}{}", String::from_utf8_lossy(&output.stdout));
}
