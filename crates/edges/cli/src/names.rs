//! From names on the command line to what they mean.

use anyhow::anyhow;
use iso_formats::{CobraIdentity, Format};
use iso_spec::Level;

/// A level by its name.
pub(crate) fn level(name: &str) -> anyhow::Result<Level> {
    Level::from_name(name.trim()).ok_or_else(|| anyhow!("there is no level `{name}`; `isoscope levels` lists them"))
}

/// A format by its name.
pub(crate) fn format(name: &str) -> anyhow::Result<Format> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|it| it.name()).collect();
        anyhow!("there is no format `{name}`; choose one of {}", known.join(", "))
    })
}

/// What identifies a version in Cobra logs.
pub(crate) fn cobra_identity(name: &str) -> anyhow::Result<CobraIdentity> {
    CobraIdentity::from_name(name).ok_or_else(|| anyhow!("--cobra-identity is `values` or `writers`, and not `{name}`"))
}
