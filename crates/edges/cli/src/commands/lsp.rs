//! `isoscope lsp`: a language server for editors.

use crate::args::LspArgs;
use crate::exit::Exit;
use crate::lsp;
use anyhow::{Context, bail};
use std::io::{self, BufReader, IsTerminal};

/// Runs the verb.
pub(crate) fn run(_raw: &LspArgs) -> anyhow::Result<Exit> {
    if io::stdin().is_terminal() {
        bail!("an editor starts this, and speaks to it on standard input; editors/README.md says how to set one up");
    }
    let is_in_order = lsp::serve(&mut BufReader::new(io::stdin()), &mut io::stdout().lock())
        .context("the editor is not understood")?;
    // The protocol wants it so.
    Ok(if is_in_order { Exit::Good } else { Exit::Found })
}
