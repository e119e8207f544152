//! The arguments of `isoscope lsp`.

use clap::Args;

/// Serve an editor: mistakes in histories, programs and levels while you write, and what names mean.
///
/// A language server over standard input and output, for files that end with .history, .txn or .spec. The editor starts it.
#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Standard input and output, which is the only way there is; some editors say it
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}
