//! The arguments of `isoscope playground`.

use clap::Args;

/// Serve a page on this machine that answers while you type: histories, programs, and levels to compare.
///
/// The page is served on the loopback address only, and nothing leaves the machine. Ctrl-C ends it.
#[derive(Debug, Args)]
pub(crate) struct PlaygroundArgs {
    /// The port; any free one by default
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
}
