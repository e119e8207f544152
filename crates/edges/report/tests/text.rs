//! The terminal rendering, word by word.

mod common;

use iso_report::{Colour, TextOptions, text};

fn plain(report: &iso_report::CheckReport) -> String {
    text(report, TextOptions { colour: Colour::None, columns: Some(110) })
}

#[test]
fn a_single_level_starts_with_its_verdict() {
    assert!(plain(&common::lost_update()).starts_with("snapshot-isolation (si): violated (lost-update)\n"));
}
