//! What the levels of a report have in common: equal refutations are told once.

use crate::document::{CheckReport, Excerpt, Judgement, LevelName, LevelReport};
use iso_spec::Level;

/// One refutation with every level that it breaks.
#[derive(Clone, Debug)]
pub struct Finding<'r> {
    /// The levels, in the order of the report.
    pub levels: Vec<&'r LevelName>,
    /// What the field calls it.
    pub anomalies: &'r [String],
    /// The core.
    pub core: &'r Excerpt,
}

impl Finding<'_> {
    /// Its headline: the first anomaly's name.
    pub fn title(&self) -> &str {
        self.anomalies.first().map_or("forbidden", String::as_str)
    }

    /// The short names of the levels, with commas.
    pub fn level_names(&self) -> String {
        self.levels.iter().map(|it| it.short.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The distinct refutations of a report, in the order of its levels.
pub fn findings(report: &CheckReport) -> Vec<Finding<'_>> {
    findings_of(&report.levels)
}

/// The distinct refutations of some levels.
pub(crate) fn findings_of(levels: &[LevelReport]) -> Vec<Finding<'_>> {
    let mut findings: Vec<Finding<'_>> = Vec::new();
    for level in levels {
        let Judgement::Violated { anomalies, core } = &level.judgement else { continue };
        match findings.iter_mut().find(|it| it.core.says_the_same(core) && it.anomalies == anomalies) {
            Some(finding) => finding.levels.push(&level.level),
            None => findings.push(Finding { levels: vec![&level.level], anomalies, core }),
        }
    }
    findings
}

/// The levels that hold and that no other level that holds implies. Levels that a user wrote are left out.
pub fn strongest_that_hold(report: &CheckReport) -> Vec<&LevelName> {
    let holding: Vec<(&LevelName, Level)> = report
        .levels
        .iter()
        .filter(|it| holds(it))
        .filter_map(|it| Some((&it.level, Level::from_name(&it.level.short)?)))
        .collect();
    let is_implied = |level: Level| holding.iter().any(|(_, other)| *other != level && other.implies(level));
    holding.iter().filter(|(_, level)| !is_implied(*level)).map(|(name, _)| *name).collect()
}

/// Does any level hold?
pub(crate) fn any_holds(report: &CheckReport) -> bool {
    report.levels.iter().any(holds)
}

fn holds(level: &LevelReport) -> bool {
    matches!(level.judgement, Judgement::Holds { .. })
}
