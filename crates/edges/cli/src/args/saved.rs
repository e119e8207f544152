//! The arguments of `report` and `certify`, which take saved results.

use crate::voice::{Form, parse_form};
use clap::Args;
use std::path::PathBuf;

/// Render a saved result again, as a page, a picture, a graph or text.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The output of --json or --report FILE.json, or - for standard input
    #[arg(value_name = "RESULT.json")]
    pub(crate) input: String,

    /// Where to write it; the ending says which kind: .html .svg .dot .json .txt .xml (JUnit) .sarif. By default text on
    /// standard output
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub(crate) outputs: Vec<PathBuf>,

    /// Print it in this form: text, json, junit or sarif
    #[arg(long, value_name = "FORM", value_parser = parse_form)]
    pub(crate) format: Option<Form>,

    /// Print a line for each finding that GitHub's workflows turn into an annotation
    #[arg(long, conflicts_with = "format")]
    pub(crate) github: bool,
}

/// Check the evidence of a saved result again, without any engine: witnesses, cores, separating histories, proofs.
#[derive(Debug, Args)]
pub(crate) struct CertifyArgs {
    /// The output of --json or --report FILE.json of check, separate, compare, lattice, predict or verify; - for
    /// standard input. With --stream, the recording
    #[arg(value_name = "RESULT.json")]
    pub(crate) input: String,

    /// Replay a schedule of check --stream --certificate along the recording that it is about
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "specs")]
    pub(crate) stream: Option<PathBuf>,

    /// A file with levels of your own that the result names
    #[arg(long = "spec", value_name = "FILE.spec")]
    pub(crate) specs: Vec<PathBuf>,

    /// Print the answer as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,
}
