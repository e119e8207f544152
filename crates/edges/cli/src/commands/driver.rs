//! `isoscope driver check`: does a driver of one's own speak the protocol?

use crate::args::{DriverCheckArgs, DriverVerb};
use crate::exit::Exit;
use crate::output;
use iso_collect::{Opening, Remark, check_driver};

/// Runs the verb.
pub(crate) fn run(raw: &DriverVerb) -> anyhow::Result<Exit> {
    let DriverVerb::Check(DriverCheckArgs { url, driver_timeout }) = raw;
    let opening = Opening { driver_timeout: *driver_timeout, ..Opening::default() };
    let conformance = check_driver(url, &opening)?;
    let mut lines: Vec<String> = conformance.database.iter().map(|it| it.trim().to_owned()).collect();
    let width = conformance.remarks.iter().map(|it| it.0.len()).max().unwrap_or_default();
    lines.extend(conformance.remarks.iter().map(|(what, remark)| format!("{what:<width$}  {remark}")));
    let n_wrong = conformance.remarks.iter().filter(|it| matches!(it.1, Remark::Wrong(_))).count();
    lines.push(match n_wrong {
        0 => "The driver speaks the protocol.".to_owned(),
        1 => "One thing is wrong; docs/drivers.md has the protocol.".to_owned(),
        n => format!("{n} things are wrong; docs/drivers.md has the protocol."),
    });
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(if conformance.is_good() { Exit::Good } else { Exit::Found })
}
