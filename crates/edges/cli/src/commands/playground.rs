//! `isoscope playground`: a page that answers while somebody types.

use crate::args::PlaygroundArgs;
use crate::exit::Exit;
use crate::output;
use crate::playground::Playground;
use anyhow::Context;

/// Runs the verb.
pub(crate) fn run(raw: &PlaygroundArgs) -> anyhow::Result<Exit> {
    let playground = Playground::listen(raw.port).with_context(|| match raw.port {
        0 => "no port of this machine can be listened on".to_owned(),
        port => {
            format!("cannot listen on port {port} of 127.0.0.1; choose another one with --port, or any with --port 0")
        }
    })?;
    output::print(&format!("The playground is at {} (Ctrl-C ends it).\n", playground.address()))?;
    playground.serve();
    Ok(Exit::Good)
}
