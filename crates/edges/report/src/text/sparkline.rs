//! A line of blocks whose height is how fast something went.

use super::{Symbols, TextOptions};
use crate::amounts::rate;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Nearly the same for terminals without blocks.
const ASCII: [char; 8] = ['_', '.', ',', '-', '~', '=', '*', '#'];

/// `▅▆█▇▆▅  up to 3,120 a second`.
pub(super) fn sparkline(rates: &[f64], options: TextOptions) -> String {
    let blocks = if options.symbols == Symbols::Ascii { ASCII } else { BLOCKS };
    let most = rates.iter().copied().fold(0.0, f64::max);
    let line: String = rates.iter().map(|it| if *it > 0.0 { blocks[height(*it / most)] } else { ' ' }).collect();
    format!("{line}  up to {} a second", rate(most))
}

/// Which of the blocks.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between zero and one")]
fn height(share: f64) -> usize {
    ((share * 8.0).ceil() as usize).clamp(1, 8) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_high_as_rates() {
        let rates = [0.0, 1.0, 4.0, 8.0];
        assert_eq!(sparkline(&rates, TextOptions::default()), " ▁▄█  up to 8 a second");
        let ascii = TextOptions { symbols: Symbols::Ascii, ..TextOptions::default() };
        assert_eq!(sparkline(&rates, ascii), " _-#  up to 8 a second");
        assert_eq!(sparkline(&[0.0], ascii), "   up to 0 a second");
    }
}
