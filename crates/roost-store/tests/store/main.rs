//! The store as its users see it: in memory, on disk, over crashes, and when the disk refuses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod faults;
mod following;
mod killed;
mod model;
mod reopening;
mod scene;
mod tenants;
mod torn;
