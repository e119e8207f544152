//! What a run took, stage by stage: `--stats`.

use crate::clock::Instant;
use iso_evidence::{Note, Quantity, Stage};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::Duration;

/// Seconds by stage, and what engines counted.
#[derive(Debug, Default)]
pub(crate) struct Effort {
    stages: Vec<(&'static str, Duration)>,
    counted: Vec<(Quantity, u64)>,
    /// What an engine is doing, and since when.
    open: Option<(Stage, Instant)>,
}

impl Effort {
    /// Adds to a stage.
    pub(crate) fn add(&mut self, name: &'static str, took: Duration) {
        match self.stages.iter_mut().find(|it| it.0 == name) {
            Some(stage) => stage.1 += took,
            None => self.stages.push((name, took)),
        }
    }

    /// What an engine says at this moment.
    pub(crate) fn hear(&mut self, note: Note) {
        match note {
            Note::Begins(stage) => {
                self.close();
                self.open = Some((stage, Instant::now()));
            }
            Note::Counted(quantity, n_more) => match self.counted.iter_mut().find(|it| it.0 == quantity) {
                Some(counted) => counted.1 += n_more,
                None => self.counted.push((quantity, n_more)),
            },
            Note::Reached { .. } => {}
        }
    }

    /// The engine does nothing more for now.
    pub(crate) fn close(&mut self) {
        if let Some((stage, since)) = self.open.take() {
            self.add(stage.name(), since.elapsed());
        }
    }

    /// A table for people: seconds and share of each stage, then what was counted.
    pub(crate) fn table(&self, whole: Duration) -> String {
        let share = |took: Duration| 100.0 * took.as_secs_f64() / whole.as_secs_f64().max(1e-9);
        let mut table = format!("{:<14} {:>9} {:>7}", "stage", "seconds", "share");
        // Stages that had nothing to do are not worth a line.
        let is_worth_it = |it: &&(&'static str, Duration)| it.1 >= Duration::from_micros(100) || ALWAYS.contains(&it.0);
        for (name, took) in self.stages.iter().filter(is_worth_it) {
            let _ = write!(table, "\n{name:<14} {:>9.3} {:>5.1} %", took.as_secs_f64(), share(*took));
        }
        let known: Duration = self.stages.iter().map(|it| it.1).sum();
        let rest = whole.saturating_sub(known);
        let _ = write!(table, "\n{:<14} {:>9.3} {:>5.1} %", "other", rest.as_secs_f64(), share(rest));
        let _ = write!(table, "\n{:<14} {:>9.3}", "whole", whole.as_secs_f64());
        for quantity in [Quantity::KnownEdges, Quantity::PairsLeft, Quantity::Variables, Quantity::Conflicts] {
            let count = self.counted.iter().find(|it| it.0 == quantity).map_or(0, |it| it.1);
            let _ = write!(table, "\n{:<14} {count:>9}", quantity.name());
        }
        table
    }
}

/// Stages that every run has.
const ALWAYS: [&str; 3] = ["reading", "facts", "certify"];

/// What a run took, counted by several.
pub(crate) type Shared = RefCell<Effort>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_counts_add_up() {
        let mut effort = Effort::default();
        effort.add("reading", Duration::from_millis(100));
        effort.add("reading", Duration::from_millis(100));
        effort.add("facts", Duration::ZERO);
        effort.add("order", Duration::from_micros(3));
        effort.hear(Note::Counted(Quantity::Conflicts, 2));
        effort.hear(Note::Counted(Quantity::Conflicts, 3));
        effort.hear(Note::Begins(Stage::Search));
        effort.close();
        let table = effort.table(Duration::from_millis(400));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["reading", "0.200", "50.0", "%"]);
        assert_eq!(lines[2].split_whitespace().next(), Some("facts"));
        assert!(!table.contains("order"), "{table}");
        assert_eq!(lines.last().map(|it| it.split_whitespace().collect::<Vec<_>>()), Some(vec!["conflicts", "5"]));
    }
}
