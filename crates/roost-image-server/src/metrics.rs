//! What was asked and sent, for whoever scrapes it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one server.
#[derive(Debug, Default)]
pub struct Metrics {
    answers: [AtomicU64; 5],
    bytes: AtomicU64,
    open: AtomicU64,
}

impl Metrics {
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes of images that left so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The counters as Prometheus reads them.
    pub fn to_text(&self) -> String {
        let mut text = String::from("# TYPE assisted_image_service_answers_total counter\n");
        for (class, count) in (1..).zip(&self.answers) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "assisted_image_service_answers_total{{class=\"{class}xx\"}} {count}");
        }
        let _ = write!(
            text,
            "# TYPE assisted_image_service_sent_bytes_total counter\nassisted_image_service_sent_bytes_total {}\n\
             # TYPE assisted_image_service_connections gauge\nassisted_image_service_connections {}\n",
            self.bytes(),
            self.open.load(Ordering::Relaxed),
        );
        text
    }
}
