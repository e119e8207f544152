//! Which of the legal versions a read gets.

use crate::open::Open;
use crate::past::{KeyIdx, Past};
use crate::random::Random;

/// So many versions are drawn before all are looked at.
const N_DRAWS: usize = 16;

/// The newest version that may be read.
pub(crate) fn newest(past: &Past, open: &Open, key: KeyIdx) -> u32 {
    let (oldest, newest) = open.view.span(past, key);
    (oldest..=newest).rev().find(|it| open.view.allows(past, &open.reads, key, *it)).unwrap_or(oldest)
}

/// Any version that may be read, each as likely as any other.
pub(crate) fn any(past: &Past, open: &Open, key: KeyIdx, random: &mut Random) -> u32 {
    let (oldest, newest) = open.view.span(past, key);
    if oldest == newest {
        return oldest;
    }
    for _ in 0..N_DRAWS {
        let drawn = oldest + random.below(newest - oldest + 1);
        if open.view.allows(past, &open.reads, key, drawn) {
            return drawn;
        }
    }
    let all = legal(past, open, key);
    all[random.below(all.len() as u32) as usize]
}

/// Every version that may be read, old ones first.
pub(crate) fn legal(past: &Past, open: &Open, key: KeyIdx) -> Vec<u32> {
    let (oldest, newest) = open.view.span(past, key);
    (oldest..=newest).filter(|it| open.view.allows(past, &open.reads, key, *it)).collect()
}
