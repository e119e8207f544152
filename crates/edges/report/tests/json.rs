//! The JSON document, and the way back.

mod common;

use iso_report::{CheckReport, JsonLayout};

#[test]
fn what_was_written_reads_back() {
    for report in [
        common::write_skew(),
        common::lost_update(),
        common::list_anomaly(),
        common::aborted_read(),
        common::stale_read(),
    ] {
        for layout in [JsonLayout::Compact, JsonLayout::Pretty] {
            assert_eq!(CheckReport::from_json(&report.to_json(layout)), Ok(report.clone()));
        }
    }
}
