//! What is done to the nodes of a database meanwhile: what collect and hunt have in common.

use crate::units::parse_duration;
use anyhow::{anyhow, bail};
use clap::Args;
use iso_collect::{Database, Fault, FaultPlan};
use std::time::Duration;

/// Where these stand in the help; others follow without it.
const HEADING: &str = "Faults";

/// Faults.
#[derive(Clone, Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct FaultArgs {
    /// What is done to nodes that were started for the run, in turns: kill, stop, cut, kill-all, restart. Each is made good again
    #[arg(help_heading = HEADING, long, value_name = "FAULT,..", value_delimiter = ',')]
    pub(crate) faults: Vec<String>,

    /// The time from the end of one fault to the next one
    #[arg(help_heading = HEADING, long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) every: Duration,
}

impl FaultArgs {
    /// The plan, if there are faults; refused where nothing can be done.
    pub(crate) fn plan(&self, database: &dyn Database, seed: u64) -> anyhow::Result<Option<FaultPlan>> {
        if self.faults.is_empty() {
            return Ok(None);
        }
        let known = Fault::ALL.map(Fault::name).join(", ");
        let fault = |name: &String| {
            let name = name.trim().to_ascii_lowercase();
            Fault::from_name(&name).ok_or_else(|| anyhow!("there is no fault `{name}`; choose some of {known}"))
        };
        let faults = self.faults.iter().map(fault).collect::<anyhow::Result<Vec<_>>>()?;
        if database.faults().is_none() {
            bail!("--faults is for servers that isoscope starts itself, such as galera:3, postgres:1 or mariadb:1");
        }
        Ok(Some(FaultPlan { faults, every: self.every, seed }))
    }
}
