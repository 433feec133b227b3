//! Whatever bytes come: no panic, and answers that can be read.

use proptest::prelude::*;

use super::{Query, Reply, Upstream, kind, respond};
use crate::Settings;
use crate::model::Model;
use crate::zone::Zone;

fn zone() -> Zone {
    let settings = Settings { domain: "cluster.local".to_owned(), ..Settings::default() };
    Zone::new(&Model::default(), &settings, 1)
}

fn answered(bytes: &[u8]) {
    let _ = Upstream::read(bytes);
    let Some(query) = Query::read(bytes) else { return };
    if let Reply::Answer(answer) = respond(&zone(), &query, 3, query.limit()) {
        assert!(answer.len() <= query.limit(), "{}", answer.len());
        let read = Upstream::read(&answer).expect("an answer");
        assert_eq!(read.id, query.id);
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        answered(&bytes);
    }

    #[test]
    fn questions_with_some_bytes_changed(
        labels in prop::collection::vec("[a-zA-Z0-9_-]{1,20}", 0..6),
        is_ours: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut name = labels.join(".");
        if is_ours {
            name.push_str(".cluster.local");
        }
        let Some(mut bytes) = Query::about(name.trim_matches('.'), kind::A, 9) else { return Ok(()) };
        bytes.extend(tail);
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        answered(&bytes);
    }
}
