//! What every target does: reads the bytes, and if they are a history, writes it and reads it again.

use iso_formats::{Format, ReadOptions, read_from, write};

/// Memory that one reading may take: small, so that the limit is met, too.
const MEMORY_LIMIT: u64 = 16 << 20;

/// Reads `bytes`; a history in our notations must survive being written and read again.
pub fn read(bytes: &[u8], format: Option<Format>) {
    let options = ReadOptions { format, memory_limit: Some(MEMORY_LIMIT), ..ReadOptions::default() };
    let Ok(reading) = read_from("fuzz", bytes, &options) else { return };
    let Some(history) = reading.history else { return };
    for format in [Format::Text, Format::Jsonl] {
        let mut written = Vec::new();
        write(&history, format, &mut written).expect("our notations express every history");
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        if let Ok(again) = read_from("again", written.as_slice(), &options) {
            assert_eq!(again.history.as_ref(), Some(&history), "{:?}", again.defects);
        }
    }
}
