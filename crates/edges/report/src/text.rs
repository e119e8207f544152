//! Documents for a terminal: what all of them share. Each says its answer first.

mod allocate;
mod check;
mod collect;
mod demo;
mod hunt;
mod lanes;
mod lattice;
mod predict;
mod replay;
mod search;
mod sparkline;
mod store;
mod verify;
mod why;

pub(crate) use allocate::allocate;
pub(crate) use check::{defect_text, size};
pub use check::{text, text_so_far};
pub(crate) use collect::collect;
pub(crate) use demo::demo;
pub(crate) use hunt::{hunt, within};
pub(crate) use lattice::lattice;
pub(crate) use predict::predict;
pub(crate) use replay::replay;
pub(crate) use search::{compare, separate};
pub use store::{Listing, store_text};
pub(crate) use verify::verify;

use crate::document::{Excerpt, Link, TxnRef};
use crate::words::{ascii, harmless, shortened, width, wrapped, wrapped_behind};

/// How to write for a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Colours, or none.
    pub colour: Colour,
    /// The symbols that it shows.
    pub symbols: Symbols,
    /// Wrap sentences at so many columns; never, if none is given.
    pub columns: Option<usize>,
}

/// Does the terminal show colours?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// No escape sequences at all.
    #[default]
    None,
    /// ANSI escape sequences.
    Ansi,
}

/// Does the terminal show more than ASCII?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symbols {
    /// Every character.
    #[default]
    Unicode,
    /// ASCII and nothing else: drawings are plainer, and other characters of names are spelled out.
    Ascii,
}

impl TextOptions {
    /// The text with the symbols that it may have.
    pub(crate) fn spelled(self, text: String) -> String {
        match self.symbols {
            Symbols::Unicode => text,
            Symbols::Ascii => ascii(&text),
        }
    }
}

/// Longer names of an arrow are shortened; the sentence beside it has them in full.
const MAX_NAME: usize = 24;

#[derive(Clone, Copy)]
enum Tone {
    Bold,
    Good,
    Bad,
    Unsure,
    Faint,
}

/// A page under construction.
struct Page {
    out: String,
    options: TextOptions,
}

impl Page {
    fn new(options: TextOptions) -> Self {
        Self { out: String::new(), options }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn tinted(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if self.options.colour == Colour::None => return text.to_owned(),
            Tone::Bold => "1",
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Unsure => "33",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Wraps a sentence behind a first indentation; later lines are indented by `hanging` columns.
    fn sentence(&mut self, first: &str, hanging: usize, sentence: &str) {
        let room = self.options.columns.map_or(usize::MAX, |it| it.saturating_sub(hanging).max(24));
        let taken = visible(first).saturating_sub(hanging);
        for (idx, line) in wrapped_behind(taken, &harmless(sentence), room).iter().enumerate() {
            let indent = if idx == 0 { first.to_owned() } else { " ".repeat(hanging) };
            self.line(&format!("{indent}{line}"));
        }
    }

    /// The same in a tone.
    fn tinted_sentence(&mut self, tone: Tone, sentence: &str) {
        let room = self.options.columns.map_or(usize::MAX, |it| it.max(24));
        for line in wrapped(&harmless(sentence), room) {
            let line = self.tinted(tone, &line);
            self.line(&line);
        }
    }

    /// The links of a cycle, each with its reason.
    fn cycle(&mut self, excerpt: &Excerpt) {
        let cycle = &excerpt.cycle;
        self.line("  The cycle:");
        self.lanes(excerpt);
        self.links(cycle, 4);
    }

    /// Names, each with a sentence beside it.
    fn beside(&mut self, rows: &[(String, &str)]) {
        let columns = rows.iter().map(|it| width(&it.0)).max().unwrap_or(0);
        for (name, sentence) in rows {
            self.reasoned(4, columns, name, sentence);
        }
    }

    /// A name with a sentence beside it; names have so many columns.
    fn reasoned(&mut self, indent: usize, columns: usize, name: &str, sentence: &str) {
        let name = padded_raw(name, columns);
        let name = self.tinted(Tone::Bold, &name);
        let margin = " ".repeat(indent);
        // A long name would leave no room for sentences beside it.
        if columns <= 32 {
            self.sentence(&format!("{margin}{name}  "), indent + columns + 2, sentence);
        } else {
            self.line(&format!("{margin}{name}"));
            self.sentence(&format!("{margin}  "), indent + 2, sentence);
        }
    }
}

/// `s1.1 --rw x--> s2.1`.
fn arrow(link: &Link) -> String {
    let brief = |txn: &TxnRef| shortened(&harmless(txn.name()), MAX_NAME);
    format!("{} --{}--> {}", brief(&link.from), link.label(MAX_NAME), brief(&link.to))
}

/// How many columns a text takes, tones aside.
fn visible(text: &str) -> usize {
    let pieces = text.split('\u{1b}').enumerate();
    pieces.map(|(idx, it)| width(if idx == 0 { it } else { it.split_once('m').map_or(it, |it| it.1) })).sum()
}

fn padded(text: &str, columns: usize) -> String {
    padded_raw(&harmless(text), columns)
}

fn padded_raw(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

pub(crate) fn memory(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        0..MIB => format!("{} KiB", bytes >> 10),
        _ if bytes < 10 * MIB => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
        _ => format!("{} MiB", bytes / MIB),
    }
}
