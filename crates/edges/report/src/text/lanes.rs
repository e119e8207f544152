//! A cycle of dependencies as a drawing for a terminal: sessions are lanes, and each dependency is an arrow in a row of
//! its own.
//!
//! ```text
//!    s1             s2
//!   s1.1 ──rw y──▶ s2.1
//!   s1.1 ◀──rw x── s2.1
//! ```

use super::{Page, Tone, padded_raw};
use crate::document::{Excerpt, Link, LinkKind, TxnRef};
use crate::words::{harmless, shortened, width};

const MAX_NAME: usize = 16;
const MAX_LABEL: usize = 18;
/// A longer cycle is easier to read as a list.
const MAX_ROWS: usize = 16;
/// Between a name and its arrow, at both ends, with at least a stroke and a head.
const AROUND_LABEL: usize = 8;

struct Lanes<'p> {
    names: Vec<&'p str>,
    /// The columns of each lane.
    widths: Vec<usize>,
    /// The columns between lanes.
    gap: usize,
}

impl Page {
    /// Draws a cycle; nothing where it would not fit.
    pub(super) fn lanes(&mut self, excerpt: &Excerpt) {
        let Some(lanes) = Lanes::new(excerpt) else { return };
        let room = self.options.columns.unwrap_or(100).saturating_sub(4);
        if excerpt.cycle.len() > MAX_ROWS || lanes.names.len() < 2 || lanes.width() > room {
            return;
        }
        let names: Vec<String> =
            lanes.names.iter().zip(&lanes.widths).map(|(name, columns)| centred(&brief(name), *columns)).collect();
        let head = self.tinted(Tone::Faint, &names.join(&" ".repeat(lanes.gap)));
        self.line(&format!("    {head}"));
        for link in &excerpt.cycle {
            let row = self.row(&lanes, link, excerpt);
            self.line(&format!("    {row}"));
        }
        self.gap();
    }

    fn row(&self, lanes: &Lanes<'_>, link: &Link, excerpt: &Excerpt) -> String {
        let (from, to) = (lanes.of(excerpt, &link.from), lanes.of(excerpt, &link.to));
        let (left, right) = (from.min(to), from.max(to));
        let mut row = String::new();
        for lane in 0..left {
            row += &centred("│", lanes.widths[lane]);
            row += &" ".repeat(lanes.gap);
        }
        row += &if left == right {
            let label = self.label(link);
            let plain = format!("{} ─{}▶ {}", short(&link.from), tag(link), short(&link.to));
            let shown = format!("{} ─{label}▶ {}", short(&link.from), short(&link.to));
            let (before, after) = margins(width(&plain), lanes.widths[left]);
            format!("{}{shown}{}", " ".repeat(before), " ".repeat(after))
        } else {
            self.arrow_between(lanes, link, (left, right), from < to)
        };
        for lane in right + 1..lanes.names.len() {
            row += &" ".repeat(lanes.gap);
            row += &centred("│", lanes.widths[lane]);
        }
        row
    }

    /// Two names and the arrow from one to the other, with the margins of their lanes.
    fn arrow_between(&self, lanes: &Lanes<'_>, link: &Link, (left, right): (usize, usize), goes_right: bool) -> String {
        let (first, last) = if goes_right { (&link.from, &link.to) } else { (&link.to, &link.from) };
        let (first, last) = (short(first), short(last));
        let (before, after_first) = margins(width(&first), lanes.widths[left]);
        let (before_last, after) = margins(width(&last), lanes.widths[right]);
        let between: usize = lanes.widths[left + 1..right].iter().sum::<usize>() + (right - left) * lanes.gap;
        let line = (after_first + between + before_last).saturating_sub(3 + width(&tag(link)));
        let (one, two) = ("─".repeat(line / 2), "─".repeat(line - line / 2));
        let label = self.label(link);
        let arrow = if goes_right { format!(" {one}{label}{two}▶ ") } else { format!(" ◀{one}{label}{two} ") };
        format!("{}{first}{arrow}{last}{}", " ".repeat(before), " ".repeat(after))
    }

    fn label(&self, link: &Link) -> String {
        let tone = match link.kind {
            LinkKind::AntiDependency => Tone::Bad,
            LinkKind::ReadFrom => Tone::Good,
            _ => Tone::Bold,
        };
        self.tinted(tone, &tag(link))
    }
}

impl<'p> Lanes<'p> {
    /// Lanes in the order in which the cycle visits them; none if a transaction has no session.
    fn new(excerpt: &'p Excerpt) -> Option<Self> {
        let mut names: Vec<&str> = Vec::new();
        let mut widths: Vec<usize> = Vec::new();
        for link in &excerpt.cycle {
            for id in [&link.from, &link.to] {
                let session = session(excerpt, id)?;
                let lane = names.iter().position(|it| *it == session).unwrap_or_else(|| {
                    names.push(session);
                    widths.push(width(&brief(session)));
                    names.len() - 1
                });
                widths[lane] = widths[lane].max(width(&short(id)));
            }
            if session(excerpt, &link.from) == session(excerpt, &link.to) {
                let row = width(&short(&link.from)) + width(&short(&link.to)) + width(&tag(link)) + 4;
                let lane = names.iter().position(|it| Some(*it) == session(excerpt, &link.from))?;
                widths[lane] = widths[lane].max(row);
            }
        }
        let gap = excerpt.cycle.iter().map(|it| width(&tag(it))).max().unwrap_or(0) + AROUND_LABEL;
        Some(Self { names, widths, gap })
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + self.names.len().saturating_sub(1) * self.gap
    }

    fn of(&self, excerpt: &Excerpt, id: &TxnRef) -> usize {
        self.names.iter().position(|it| session(excerpt, id) == Some(*it)).unwrap_or(0)
    }
}

fn session<'p>(excerpt: &'p Excerpt, of: &'p TxnRef) -> Option<&'p str> {
    match of {
        TxnRef::Initial => Some(of.name()),
        TxnRef::Txn(id) => excerpt.transactions.iter().find(|it| it.id == *id).map(|it| it.session.as_str()),
    }
}

fn tag(link: &Link) -> String {
    link.label(MAX_LABEL)
}

fn short(txn: &TxnRef) -> String {
    brief(txn.name())
}

fn brief(name: &str) -> String {
    shortened(&harmless(name), MAX_NAME)
}

fn margins(inside: usize, columns: usize) -> (usize, usize) {
    let free = columns.saturating_sub(inside);
    (free / 2, free - free / 2)
}

fn centred(text: &str, columns: usize) -> String {
    let (before, _) = margins(width(text), columns);
    padded_raw(&format!("{}{text}", " ".repeat(before)), columns)
}
