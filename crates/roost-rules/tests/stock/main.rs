//! What a stock server answered to objects, beside what the rules make of them.
//!
//! Every case under `answers/` was sent to kube-apiserver 1.36.3 as a dry run: `new` is the body, `old` the stored object it
//! replaces, `expect` the answer. Uids and times are replaced by fixed ones.

mod areas;
mod cases;
mod workloads;
