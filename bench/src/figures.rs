//! Figures to reach: seconds and megabytes that some histories may take at most.

use super::cell::Cell;
use std::fmt::Write as _;

struct Figure {
    history: &'static str,
    level: &'static str,
    seconds: f64,
    megabytes: Option<u32>,
}

const fn figure(history: &'static str, level: &'static str, seconds: f64, megabytes: u32) -> Figure {
    Figure { history, level, seconds, megabytes: Some(megabytes) }
}

const fn seconds(history: &'static str, level: &'static str, seconds: f64) -> Figure {
    Figure { history, level, seconds, megabytes: None }
}

const FIGURES: &[Figure] = &[
    figure("fig11-chengRW-16000", "ser", 0.15, 40),
    figure("fig13-BL-10k", "ser", 0.1, 40),
    figure("fig13-WH-10k", "ser", 0.1, 40),
    figure("fig13-HD-10k", "ser", 0.15, 40),
    figure("fig13-BL-10k", "si", 0.2, 40),
    seconds("fig13-RH-10k", "ser", 0.1),
    seconds("fig13-tpcc-10k", "ser", 0.1),
    seconds("fig13-twitter-10k", "ser", 0.1),
    seconds("fig13-rubis-10k", "ser", 0.1),
    seconds("fig13-RH-10k", "si", 0.1),
    seconds("fig13-tpcc-10k", "si", 0.1),
    seconds("fig13-twitter-10k", "si", 0.1),
    seconds("fig13-rubis-10k", "si", 0.1),
    figure("write-heavy-100k", "ser", 1.5, 250),
    figure("balanced-100k", "ser", 1.5, 250),
    figure("read-heavy-100k", "ser", 1.5, 250),
    figure("write-heavy-100k", "si", 2.5, 300),
    figure("balanced-100k", "si", 2.5, 300),
    figure("read-heavy-100k", "si", 2.5, 300),
    figure("blindw-rw-1M", "ser", 7.0, 1000),
    figure("blindw-rw-1M", "si", 11.0, 1300),
    seconds("blindw-rw-1M", "pc", 11.0),
    seconds("blindw-rw-1M", "psi", 15.0),
    figure("blindw-rw-1M", "rc", 3.0, 1000),
    figure("blindw-rw-1M", "ra", 3.0, 1000),
    figure("blindw-rw-1M", "cc", 5.0, 1000),
    seconds("hot-key-10k", "ser", 1.0),
    seconds("hot-key-10k", "si", 5.0),
    figure("sessions-1000-100k", "ser", 6.0, 1000),
    figure("sessions-1000-100k", "si", 6.0, 1000),
    figure("sessions-10000-100k", "ser", 60.0, 2000),
    figure("sessions-10000-100k", "si", 60.0, 2000),
    figure("ranges-100k", "ser", 10.0, 1000),
    figure("ranges-100k", "si", 10.0, 1000),
    figure("ranges-100k", "postgres.rc", 10.0, 1000),
    figure("ranges-si-100k", "si", 10.0, 1000),
    figure("ranges-si-100k", "postgres.rc", 10.0, 1000),
    figure("updates-100k", "postgres.rc", 10.0, 1000),
];

/// The growth that is allowed from the first of these histories to the second, which is ten times larger.
const GROWTH: (&str, &str, f64) = ("blindw-rw-100k", "blindw-rw-1M", 12.0);

/// Whether a figure needs this history at this level.
pub(crate) fn need(history: &str, level: &str) -> bool {
    let is_growth = history == GROWTH.0 || history == GROWTH.1;
    is_growth || FIGURES.iter().any(|it| it.history == history && it.level == level)
}

/// The figures as a table, with what was measured.
pub(crate) fn figures(cells: &[Cell]) -> String {
    let mut out = format!(
        "figures to reach\n{:<24} {:<6} {:>9} {:>9} {:>10} {:>9}\n",
        "history", "level", "s at most", "seconds", "MB at most", "peak MB"
    );
    let (mut n_met, mut n_missed, mut n_skipped) = (0, 0, 0);
    for Figure { history, level, seconds: at_most, megabytes } in FIGURES {
        let limit = megabytes.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let Some(cell) = find(cells, history, level) else {
            n_skipped += 1;
            continue;
        };
        let fits = megabytes.is_none_or(|it| cell.megabytes() <= f64::from(it));
        let is_met = cell.is_answered() && cell.seconds <= *at_most && fits;
        n_met += usize::from(is_met);
        n_missed += usize::from(!is_met);
        let word = if is_met { "met" } else { "missed" };
        let (seconds, megabytes) = (cell.seconds, cell.megabytes());
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{history:<24} {level:<6} {at_most:>9.2} {seconds:>9.3} {limit:>10} {megabytes:>9.1}  {word}"
        );
    }
    let (small, large, at_most) = GROWTH;
    for cell in cells.iter().filter(|it| it.history == large && it.is_answered()) {
        if let Some(before) = find(cells, small, cell.level).filter(|it| it.is_answered()) {
            let growth = cell.seconds / before.seconds;
            let is_met = growth <= at_most;
            n_met += usize::from(is_met);
            n_missed += usize::from(!is_met);
            let word = if is_met { "met" } else { "missed" };
            let _ =
                writeln!(out, "{small} to {large}, {}: {growth:.1} times, at most {at_most:.0}: {word}", cell.level);
        }
    }
    if n_met + n_missed == 0 {
        return String::new();
    }
    let _ = writeln!(out, "{n_met} met, {n_missed} missed, {n_skipped} not measured");
    out
}

fn find<'c>(cells: &'c [Cell], history: &str, level: &str) -> Option<&'c Cell> {
    cells.iter().find(|it| it.history == history && it.level == level)
}

#[cfg(test)]
mod tests {
    use super::super::expectation::{LEVELS, Verdict};
    use super::super::inputs::{Extent, inputs};
    use super::*;

    fn cell(history: &str, level: &'static str, seconds: f64, megabytes: u64) -> Cell {
        Cell {
            family: history.to_owned(),
            history: history.to_owned(),
            n_txns: 1,
            level,
            seconds,
            cpu_seconds: seconds,
            peak_bytes: megabytes * 1_000_000,
            verdict: Verdict::Holds,
            is_wrong: false,
            injection: None,
            found: None,
        }
    }

    #[test]
    fn every_figure_is_of_a_history_that_is_measured() {
        let inputs = inputs(Extent::Usual).unwrap();
        for figure in FIGURES {
            assert!(inputs.iter().any(|it| it.name == figure.history), "{}", figure.history);
            assert!(LEVELS.contains(&figure.level));
        }
        for name in [GROWTH.0, GROWTH.1] {
            assert!(inputs.iter().any(|it| it.name == name), "{name}");
        }
    }

    #[test]
    fn a_figure_is_met_if_time_and_memory_fit() {
        let slow = Cell { verdict: Verdict::Unknown, ..cell("hot-key-10k", "si", 1.0, 9) };
        let cells = [
            cell("fig13-BL-10k", "ser", 0.09, 39),
            cell("fig13-BL-10k", "si", 0.09, 41),
            cell("hot-key-10k", "ser", 1.5, 9),
            slow,
            cell("blindw-rw-100k", "rc", 0.1, 9),
            cell("blindw-rw-1M", "rc", 1.3, 9),
        ];
        let text = figures(&cells);
        let words: Vec<&str> = text
            .lines()
            .filter(|it| it.starts_with("fig13-BL-10k ") || it.starts_with("hot-key"))
            .filter_map(|it| it.split(' ').next_back())
            .collect();
        assert_eq!(words, ["met", "missed", "missed", "missed"], "{text}");
        assert!(text.contains("13.0 times, at most 12: missed"), "{text}");
        assert!(text.ends_with("2 met, 4 missed, 33 not measured\n"), "{text}");
        assert_eq!(figures(&[cell("balanced-1k", "ser", 0.1, 9)]), "");
    }
}
