//! A few kills at random moments; the full count is `cargo xtask crash`.

use roost_tests::{crash, hostile};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_engine_forgets_nothing() {
    let binary = hostile::binary().expect("a server");
    let outcome = crash::run(&binary, 10, 7).await.expect("the engine comes back after each kill");
    assert!(outcome.acknowledged > 0, "nothing was written");
    assert_eq!(outcome.violations, Vec::<String>::new());
}
