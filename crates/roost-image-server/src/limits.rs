//! How much the server does at once, and how long it waits for those who do nothing.

use std::time::Duration;

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. Virtual media of a rack's BMCs keep theirs open; upstream serves 400 requests at once.
    pub connections: usize,
    /// How long a client may take to send the head of a request, from its first byte on.
    pub head: Duration,
    /// How long a connection may lie idle. BMCs read some blocks, wait for the host, and read on.
    pub idle: Duration,
    /// How long a client may take none of what was sent. A host under a slow BMC still takes something every second.
    pub stalled: Duration,
    /// How long downloads may go on after the server was asked to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            head: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            stalled: Duration::from_mins(1),
            drain: Duration::from_secs(5),
        }
    }
}
