//! Every timer of a simulated node, with its reason. Where a kubelet has one, it is the kubelet's.

use std::time::Duration;

/// How long a lease holds, in seconds; the API's own default for nodes.
pub(crate) const LEASE_SECONDS: u32 = 40;
/// How often the lease is renewed: a quarter of its duration.
pub(crate) const LEASE_RENEWAL: Duration = Duration::from_secs(10);
/// By how much a renewal varies, in thousandths, so that a thousand nodes that started together do not stay together.
pub(crate) const LEASE_JITTER: u64 = 40;
/// A lease that could not be renewed is tried again after this, and after twice as long, up to the longest below.
pub(crate) const LEASE_RETRY: Duration = Duration::from_millis(200);
/// The longest time between two attempts on a lease.
pub(crate) const LEASE_LONGEST_RETRY: Duration = Duration::from_secs(7);
/// A renewal that is this much later than it should be counts as late.
pub(crate) const LATE: Duration = Duration::from_secs(5);
/// How often the status is tried again when heartbeats do not come through, and how long a try may take, as the kubelets'
/// configuration of a pool says.
pub(crate) const STATUS_UPDATE: Duration = Duration::from_secs(4);
/// How often the status is reported when nothing has changed.
pub(crate) const STATUS_REPORT: Duration = Duration::from_mins(5);
/// The first wait after something failed, doubled up to the longest.
pub(crate) const RETRY: Duration = Duration::from_millis(250);
/// The longest wait after something failed.
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// The longest wait of a discovered host after something failed, as that of `hcp-agent`.
pub(crate) const LONGEST_HOST_RETRY: Duration = Duration::from_secs(2);
/// How long a discovered host tries to open a connection, as `hcp-agent` does.
pub(crate) const HOST_CONNECT: Duration = Duration::from_secs(5);
/// How long a request may take, as a kubelet's heartbeats may.
pub(crate) const REQUEST: Duration = Duration::from_secs(10);
/// How long opening a connection may take.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// A connection that says nothing for so long is asked whether it still is one.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long a connection may take to answer that.
pub(crate) const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(15);
/// How long a signing request may stay unanswered before another is made.
pub(crate) const REQUEST_PATIENCE: Duration = Duration::from_mins(15);
/// How long one watch lasts; the server ends it then and it is begun anew.
pub(crate) const WATCH: Duration = Duration::from_mins(8);
/// A certificate is renewed when this much of its life is over, in hundredths, plus up to the spread.
pub(crate) const RENEWAL_AFTER: u64 = 70;
/// The spread of renewals, in hundredths of the certificate's life.
pub(crate) const RENEWAL_SPREAD: u64 = 20;
/// How long a kubelet that restarts is away.
pub(crate) const RESTART: Duration = Duration::from_millis(200);
/// The first wait after a payload could not be fetched, as Ignition waits.
pub(crate) const IGNITION_RETRY: Duration = Duration::from_millis(200);
/// The longest wait between two attempts to fetch a payload, as Ignition waits.
pub(crate) const IGNITION_LONGEST_RETRY: Duration = Duration::from_secs(5);
/// How long a payload may take.
pub(crate) const IGNITION_ANSWER: Duration = Duration::from_secs(30);
