//! The arguments of `isoscope completions`.

use clap::Args;
use clap_complete::Shell;

/// Print what a shell needs to complete the command line.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
