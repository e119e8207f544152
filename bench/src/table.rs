//! What was measured, as tables for people.

use super::cell::Cell;
use super::expectation::LEVELS;
use std::fmt::Write as _;

/// The line above the rows.
pub(crate) fn head() -> String {
    format!("{:<34} {:<6} {:>9} {:>9} {:>9}  verdict\n", "history", "level", "seconds", "cpu s", "peak MB")
}

/// One line.
pub(crate) fn row(cell: &Cell) -> String {
    let Cell { history, level, seconds, cpu_seconds, verdict, .. } = cell;
    let megabytes = cell.megabytes();
    let mut out = format!("{history:<34} {level:<6} {seconds:>9.3} {cpu_seconds:>9.3} {megabytes:>9.1}  {verdict}");
    if let Some(found) = &cell.found {
        // Writing to a string cannot fail.
        let _ = write!(out, ", {} in {} transactions", found.anomaly, found.n_txns);
    }
    out.push_str(if cell.is_wrong { "  WRONG\n" } else { "\n" });
    out
}

/// How time grows with the number of transactions: the exponent between each two sizes of a family, for each level.
pub(crate) fn growth(cells: &[Cell]) -> String {
    let mut out = "growth: the exponent k of n^k between two sizes\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:<42} {}", "", LEVELS.map(|it| format!("{it:>width$}", width = width(it))).concat());
    let mut steps: Vec<(&str, &str)> = Vec::new();
    for cell in cells {
        let next = larger(cells, cell).map(|it| (cell.history.as_str(), it.history.as_str()));
        steps.extend(next.filter(|it| !steps.contains(it)));
    }
    if steps.is_empty() {
        return String::new();
    }
    for (small, large) in steps {
        let at = |history: &str, level: &str| {
            cells.iter().find(|it| it.history == history && it.level == level && it.is_answered())
        };
        let exponents = LEVELS.map(|level| match (at(small, level), at(large, level)) {
            (Some(small), Some(large)) => format!("{:>width$.2}", exponent(small, large), width = width(level)),
            _ => format!("{:>width$}", "-", width = width(level)),
        });
        let _ = writeln!(out, "{:<42} {}", format!("{small} to {large}"), exponents.concat());
    }
    out
}

/// How wide the column of a level is.
fn width(level: &str) -> usize {
    level.len().max(4) + 1
}

/// The next larger history of the family, at the same level.
fn larger<'c>(cells: &'c [Cell], cell: &Cell) -> Option<&'c Cell> {
    let is_larger = |it: &&Cell| it.family == cell.family && it.level == cell.level && it.n_txns > cell.n_txns;
    cells.iter().filter(is_larger).min_by_key(|it| it.n_txns)
}

fn exponent(small: &Cell, large: &Cell) -> f64 {
    let count = |cell: &Cell| f64::from(u32::try_from(cell.n_txns).unwrap_or(u32::MAX));
    (large.seconds / small.seconds).ln() / (count(large) / count(small)).ln()
}

/// What became of the injected anomalies, at the levels that forbid them.
///
/// At the weakest of these an anomaly has its own name; at others a smaller part may have another one.
pub(crate) fn injected(cells: &[Cell]) -> String {
    let mut out =
        format!("injected anomalies\n{:<34} {:<6} {:>9} {:>5}  named\n", "history", "level", "seconds", "part");
    let (mut n_forbidden, mut n_found, mut n_weakest, mut n_named, mut largest) = (0, 0, 0, 0, 0);
    for cell in cells {
        let Cell { history, level, seconds, injection: Some(injection), .. } = cell else { continue };
        if !injection.forbidden_by().contains(level) {
            continue;
        }
        let (n_txns, anomaly) = cell.found.as_ref().map_or((0, "not found"), |it| (it.n_txns, it.anomaly.as_str()));
        let _ = writeln!(out, "{history:<34} {level:<6} {seconds:>9.3} {n_txns:>5}  {anomaly}");
        let is_weakest = injection.forbidden_by().first() == Some(level);
        n_forbidden += 1;
        n_found += usize::from(cell.found.is_some());
        n_weakest += usize::from(is_weakest);
        n_named += usize::from(is_weakest && anomaly == injection.name());
        largest = largest.max(n_txns);
    }
    if n_forbidden == 0 {
        return String::new();
    }
    let _ = writeln!(out, "{n_found} of {n_forbidden} found; the largest part has {largest} transactions");
    let _ = writeln!(out, "{n_named} of {n_weakest} named as injected at the weakest level that forbids them");
    out
}

/// The answers that contradict how the history was made, or that are missing by the program's fault.
pub(crate) fn wrong(cells: &[Cell]) -> String {
    cells.iter().filter(|it| it.is_wrong).map(row).collect()
}

/// All rows for a spreadsheet.
pub(crate) fn csv(cells: &[Cell]) -> String {
    let mut out = "history,transactions,level,seconds,cpu_seconds,peak_bytes,verdict,anomaly,part\n".to_owned();
    for Cell { history, n_txns, level, seconds, cpu_seconds, peak_bytes, verdict, found, .. } in cells {
        let _ = write!(out, "{history},{n_txns},{level},{seconds:.6},{cpu_seconds:.6},{peak_bytes},{verdict},");
        let _ = match found {
            Some(found) => writeln!(out, "{},{}", found.anomaly, found.n_txns),
            None => writeln!(out, ","),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::cell::Found;
    use super::super::expectation::Verdict;
    use super::*;
    use iso_generate::Injection;

    fn cell(n_txns: usize, seconds: f64, verdict: Verdict) -> Cell {
        Cell {
            family: "mix".to_owned(),
            history: format!("mix-{n_txns}"),
            n_txns,
            level: "ser",
            seconds,
            cpu_seconds: 0.25,
            peak_bytes: 12_345_678,
            verdict,
            is_wrong: false,
            injection: None,
            found: None,
        }
    }

    #[test]
    fn the_exponent_is_between_neighbouring_sizes() {
        let cells = [
            cell(1_000, 0.01, Verdict::Holds),
            cell(10_000, 0.1, Verdict::Holds),
            cell(100_000, 10.0, Verdict::Holds),
            cell(1_000_000, 60.0, Verdict::Unknown),
        ];
        let text = growth(&cells);
        let exponents: Vec<Vec<&str>> =
            text.lines().skip(2).map(|it| it.split_whitespace().skip(3).collect()).collect();
        let expected = |ser| vec!["-", "-", "-", "-", "-", "-", ser, "-", "-", "-"];
        assert_eq!(growth(&cells[..1]), "");
        assert_eq!(exponents, [expected("1.00"), expected("2.00"), expected("-")], "{text}");
    }

    #[test]
    fn rows_tell_what_is_wrong_and_what_was_found() {
        let found = Some(Found { anomaly: "g2-item".to_owned(), n_txns: 3 });
        let injection = Some(Injection::WriteSkew);
        let cells = [
            Cell { injection, found, ..cell(1_000, 0.5, Verdict::Violated) },
            Cell { is_wrong: true, ..cell(2_000, 0.5, Verdict::Failed) },
        ];
        assert!(
            row(&cells[0]).ends_with("0.500     0.250      12.3  violated, g2-item in 3 transactions\n"),
            "{}",
            row(&cells[0])
        );
        assert!(wrong(&cells).contains("mix-2000") && !wrong(&cells).contains("mix-1000"));
        assert!(
            injected(&cells).contains("1 of 1 found; the largest part has 3 transactions\n0 of 1 named as injected")
        );
        assert_eq!(injected(&cells[1..]), "");
        assert!(csv(&cells).contains("mix-1000,1000,ser,0.500000,0.250000,12345678,violated,g2-item,3\n"));
        assert!(csv(&cells).contains("mix-2000,2000,ser,0.500000,0.250000,12345678,failed,,\n"));
    }
}
