//! What the processes of a plane need, as the kernel counts it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::plane::Plane;
use crate::process::Process;

/// Ticks in a second on every Linux that Roost runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What all processes of a plane need together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Resident memory in MiB.
    pub memory: f64,
    /// Processor time as a share of one processor, in percent.
    pub processor: f64,
}

/// What a plane needs while nothing is asked of it.
pub(super) async fn usage_over(plane: &Plane, period: Duration) -> Usage {
    let before = threads_nanoseconds(plane);
    let start = Instant::now();
    tokio::time::sleep(period).await;
    let spent = threads_nanoseconds(plane).into_iter().map(|(thread, taken)| {
        let before = before.get(&thread).copied().unwrap_or_default();
        taken.saturating_sub(before) as f64 / 1e9
    });
    Usage { processor: spent.sum::<f64>() / start.elapsed().as_secs_f64() * 100.0, memory: memory(plane) }
}

/// Processor time of each thread that lives, to the nanosecond: ticks are too coarse for processes that do nothing.
fn threads_nanoseconds(plane: &Plane) -> HashMap<PathBuf, u64> {
    let of_process =
        |process: &Process| std::fs::read_dir(format!("/proc/{}/task", process.id())).into_iter().flatten();
    let threads = plane.processes().iter().flat_map(of_process).flatten();
    let taken = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((thread.path(), text.split_whitespace().next()?.parse().ok()?))
    });
    taken.collect()
}

/// Processor time of all processes so far, in seconds.
pub fn processor(plane: &Plane) -> f64 {
    plane.processes().iter().map(|process| processor_seconds(process.id())).sum()
}

/// Resident memory of all processes, in MiB.
pub(super) fn memory(plane: &Plane) -> f64 {
    plane.processes().iter().map(|process| resident_mebibytes(process.id())).sum()
}

/// Processor time of this process so far, in seconds.
pub(super) fn own_processor() -> f64 {
    processor_seconds(std::process::id())
}

/// Resident memory of this process, in MiB.
pub(super) fn own_memory() -> f64 {
    resident_mebibytes(std::process::id())
}

pub(crate) fn processor_seconds(id: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name of the process may contain blanks, so the fields are counted from behind it.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

pub(crate) fn resident_mebibytes(id: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
