//! `isoscope completions`: what a shell needs to complete our command line.

use crate::args::CompletionsArgs;
use crate::exit::Exit;
use crate::{command, output};

/// Runs the verb.
pub(crate) fn run(raw: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(raw.shell, &mut command(), "isoscope", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Exit::Good)
}
