//! What every target does: reads the bytes, and if they are a history, writes it and reads it again.

use iso_formats::{Format, ReadOptions, read_from, write};
use iso_history::{History, Outcome};

/// Memory that one reading may take: small, so that the limit is met, too.
const MEMORY_LIMIT: u64 = 16 << 20;

/// Reads `bytes`; a history in our notations must survive being written and read again.
pub fn read(bytes: &[u8], format: Option<Format>) {
    let options = ReadOptions { format, memory_limit: Some(MEMORY_LIMIT), ..ReadOptions::default() };
    let Ok(reading) = read_from("fuzz", bytes, &options) else { return };
    let Some(history) = reading.history else { return };
    for format in Format::ALL {
        let mut written = Vec::new();
        let is_ours = format.expresses_all();
        match write(&history, format, &mut written) {
            Ok(()) => {}
            Err(why) if is_ours => panic!("our notations express every history, but {why}"),
            // A writer may refuse, but not leave out.
            Err(_) => continue,
        }
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let Ok(again) = read_from("again", written.as_slice(), &options) else { continue };
        let Some(found) = again.history else { panic!("{format}: {:?}", again.defects) };
        if is_ours {
            assert_eq!(found, history, "{format}");
        } else {
            assert_eq!(committed(&found), committed(&history), "{format}");
        }
    }
}

/// Sessions get other names in some formats, and empty transactions leave no trace; what was committed stays.
fn committed(history: &History) -> usize {
    let txns = history.txns().filter(|it| history.outcome(*it) == Outcome::Committed);
    txns.map(|it| history.ops(it).len()).sum()
}
