//! What charts over time share: their frame, axes and signs.

use super::figure::{FAINT, Figure, INK, n};
use crate::amounts::{moment, short};
use crate::words::{width, xml};

pub(super) const BLUE: &str = "#0969da";
pub(super) const AMBER: &str = "#9a6700";
pub(super) const PURPLE: &str = "#8250df";
const GRID: &str = "#d0d7de";
const LETTER: f64 = 6.6;

/// How much room a chart has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// A page or a sheet of paper.
    Desk,
    /// A phone, where letters must not shrink.
    Phone,
}

impl Room {
    pub(super) fn width(self) -> f64 {
        match self {
            Self::Desk => 900.0,
            Self::Phone => 360.0,
        }
    }

    /// About so many labels stand below a chart.
    pub(super) fn n_moments(self) -> f64 {
        match self {
            Self::Desk => 10.0,
            Self::Phone => 4.0,
        }
    }
}

/// A field with time to the right and a rate upwards.
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// The rate at the top.
    most: f64,
}

impl Plot {
    /// A field at the bottom of a figure, which then ends where the field does, for rates up to this one.
    pub(super) fn below(figure: &mut Figure, height: f64, fastest: f64) -> Self {
        let step = nice(fastest / 4.0);
        let top = figure.height + 10.0;
        figure.height = top + height;
        Self {
            left: sides(figure.width).0,
            right: sides(figure.width).1,
            top,
            bottom: top + height,
            most: step * (fastest / step).ceil().max(1.0),
        }
    }

    /// The place of a share of the whole width.
    pub(super) fn x(&self, share: f64) -> f64 {
        self.left + (self.right - self.left) * share.clamp(0.0, 1.0)
    }

    pub(super) fn y(&self, rate: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * (rate / self.most).clamp(0.0, 1.0)
    }

    /// Lines for rates, with their numbers.
    pub(super) fn rates(&self, figure: &mut Figure) {
        let step = nice(self.most / 5.0).max(self.most / 5.0);
        let mut rate = 0.0;
        while rate <= self.most * 1.001 {
            let y = n(self.y(rate));
            let colour = if rate == 0.0 { "#8c959f" } else { GRID };
            figure.body += &format!(
                "<path d=\"M{} {y}H{}\" stroke=\"{colour}\" stroke-width=\"1\"/>\n",
                n(self.left),
                n(self.right)
            );
            figure.body += &small(self.left - 8.0, self.y(rate) + 4.0, "end", &short(rate));
            rate += step;
        }
    }

    /// Lines for nothing and for the most, with their numbers: there is no room for more in a small one.
    pub(super) fn ends(&self, figure: &mut Figure) {
        for (rate, colour) in [(0.0, "#8c959f"), (self.most, GRID)] {
            let (left, right, y) = (n(self.left), n(self.right), n(self.y(rate)));
            figure.body += &format!("<path d=\"M{left} {y}H{right}\" stroke=\"{colour}\" stroke-width=\"1\"/>\n");
            figure.body += &small(self.left - 8.0, self.y(rate) + 4.0, "end", &short(rate));
        }
    }

    /// Moments with the shares of the width where they stand, below everything that was drawn so far.
    pub(super) fn moments(&self, figure: &mut Figure, moments: &[(f64, String)]) {
        figure.height += 18.0;
        let mut free = f64::NEG_INFINITY;
        for (share, words) in moments {
            let x = self.x(*share);
            let half = width(words) as f64 * LETTER / 2.0;
            let middle = x.clamp(half, figure.width - half - 4.0);
            if middle - half < free {
                continue;
            }
            free = middle + half + 8.0;
            let y = figure.height;
            figure.body +=
                &format!("<path d=\"M{} {}v4\" stroke=\"#8c959f\" stroke-width=\"1\"/>\n", n(x), n(y - 18.0));
            figure.body += &small(middle, y - 2.0, "middle", words);
        }
        figure.height += 6.0;
    }
}

/// Moments that people count in, up to the end.
pub(super) fn clock(seconds: f64, room: Room) -> Vec<(f64, String)> {
    let step = nice_time(seconds / room.n_moments());
    let last = (seconds / step * 1.0001).floor() as usize;
    (0..=last).map(|nth| nth as f64 * step).map(|it| (it / seconds.max(1e-6), moment(it, seconds))).collect()
}

/// What rates are of, in a line of its own.
pub(super) fn unit(figure: &mut Figure) {
    figure.height += 12.0;
    figure.body += &small(sides(figure.width).0, figure.height, "start", "transactions a second");
}

/// Where a field begins and ends in a figure of this width.
pub(super) fn sides(width: f64) -> (f64, f64) {
    (48.0, width - 20.0)
}

/// Words of an axis.
pub(super) fn small(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" text-anchor=\"{anchor}\" fill=\"{FAINT}\">{}</text>\n",
        n(x),
        n(y),
        xml(words)
    )
}

/// Signs with their meanings, side by side and then below each other.
pub(super) fn signs(figure: &mut Figure, signs: &[(&str, String)]) {
    let left = 16.0;
    let mut x = left;
    figure.height += 16.0;
    for (sign, words) in signs {
        let needed = 22.0 + width(words) as f64 * LETTER + 18.0;
        if x > left && x + needed > figure.width {
            x = left;
            figure.height += 18.0;
        }
        figure.body += &format!("<g transform=\"translate({} {})\">{sign}</g>\n", n(x), n(figure.height - 9.0));
        figure.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"12\" fill=\"{INK}\">{}</text>\n",
            n(x + 22.0),
            n(figure.height),
            xml(words)
        );
        x += needed;
    }
    figure.height += 8.0;
}

/// A figure with its name and what it shows, for those who do not see it.
pub(super) fn named(figure: &Figure, title: &str, description: &str) -> String {
    let names = format!("<title>{}</title>\n<desc>{}</desc>\n", xml(title), xml(description));
    let svg = figure.alone().replacen("<svg ", "<svg role=\"img\" ", 1);
    match svg.find(">\n") {
        Some(end) => format!("{}{names}{}", &svg[..end + 2], &svg[end + 2..]),
        None => svg,
    }
}

/// The next number of one, two or five, and zeros.
fn nice(number: f64) -> f64 {
    if !(number.is_finite() && number > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(number.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|it| it * decade >= number * 0.999);
    digit.unwrap_or(10.0) * decade
}

/// The next time that people count in.
fn nice_time(seconds: f64) -> f64 {
    let steps = [
        10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 21_600.0, 43_200.0,
        86_400.0,
    ];
    if seconds <= 5.0 {
        return nice(seconds);
    }
    steps.into_iter().find(|it| *it >= seconds).unwrap_or_else(|| nice(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_axes_are_numbers_that_people_count_in() {
        let words =
            |steps: &[f64], next: fn(f64) -> f64| steps.iter().map(|it| n(next(*it) * 10.0)).collect::<Vec<_>>();
        assert_eq!(words(&[0.0, 0.3, 1.0, 1.1, 3.0, 7.0, 120.0], nice), ["10", "5", "10", "20", "50", "100", "2000"]);
        assert_eq!(words(&[0.03, 1.0, 6.0, 61.0], nice_time), ["0.5", "10", "100", "1200"]);
    }
}
