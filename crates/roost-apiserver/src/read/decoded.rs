//! Changes that were decoded lately: all watchers of a collection look at the same change at about the same time, and a
//! thousand of them must not decode it a thousand times.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parking_lot::Mutex;
use roost_object::Value;
use roost_store::Event;

use crate::cluster::Cluster;
use crate::resource::Resource;

/// Changes that are remembered, of all tenants together.
const REMEMBERED: usize = 32;
/// Larger objects are decoded each time, so that what is remembered stays small.
const MAX_BYTES: usize = 16 * 1024;

/// An object as it is after a change, and as it was before.
pub(super) type Both = [Option<Value>; 2];

/// A decoded change. It holds what it was made from, so that nothing else can be at the same address.
struct Remembered {
    event: Arc<Event>,
    resource: Arc<Resource>,
    both: Arc<Both>,
}

static RECENT: LazyLock<Mutex<VecDeque<Remembered>>> = LazyLock::new(Mutex::default);

/// The object of a change, in the served version.
pub(super) fn both(cluster: &Cluster, resource: &Arc<Resource>, event: &Arc<Event>) -> Arc<Both> {
    let is_this = |known: &&Remembered| Arc::ptr_eq(&known.event, event) && Arc::ptr_eq(&known.resource, resource);
    if let Some(known) = RECENT.lock().iter().rev().find(is_this) {
        return Arc::clone(&known.both);
    }
    let decode = |value: &Bytes| cluster.decode_served_bytes(resource, &event.name, value, event.revision).ok();
    let both = Arc::new([event.value.as_ref().and_then(decode), event.previous.as_ref().and_then(decode)]);
    let size = [&event.value, &event.previous].into_iter().flatten().map(Bytes::len).sum::<usize>();
    if size <= MAX_BYTES {
        let mut recent = RECENT.lock();
        if recent.len() >= REMEMBERED {
            recent.pop_front();
        }
        let (event, resource) = (Arc::clone(event), Arc::clone(resource));
        recent.push_back(Remembered { event, resource, both: Arc::clone(&both) });
    }
    both
}
