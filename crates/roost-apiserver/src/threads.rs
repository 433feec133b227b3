//! Threads to which the kernel prefers others.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

/// As deep as the stack of other threads that work on requests.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// How many processors this process may use. To ask is to read files, so it is asked once.
pub(crate) static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// One thread for each `share` processors, at least one. None, with a warning, where the system has none to give.
pub(crate) fn that_stand_back(name: &'static str, share: usize) -> Option<Runtime> {
    let built = Builder::new_multi_thread()
        .worker_threads((*PROCESSORS / share).max(1))
        .thread_name(name)
        .thread_stack_size(STACK_BYTES)
        .on_thread_start(move || {
            if let Err(error) = roost_kernel::stand_back() {
                tracing::warn!(%error, "a thread for {name} requests cannot stand back");
            }
        })
        .enable_all()
        .build();
    built.inspect_err(|error| tracing::warn!(%error, "there are no threads for {name} requests")).ok()
}
