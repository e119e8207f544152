//! Ctrl-C: the first one asks the work to stop and to say what it knows, the second one ends the process at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a process ends that was interrupted twice, as shells expect it.
#[cfg(unix)]
const INTERRUPTED: i32 = 130;

/// Set by the first signal; the second one ends the process.
#[cfg(unix)]
pub(crate) fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    use anyhow::Context;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag;

    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&is_interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&is_interrupted)))
            .context("signals cannot be handled")?;
    }
    Ok(is_interrupted)
}

/// Never set: there are no signals.
#[cfg(not(unix))]
pub(crate) fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    Ok(Arc::default())
}
