//! Words on their way to a screen: made harmless, measured and wrapped.

/// The text with control characters, and those that turn the direction of writing, spelled out.
///
/// Names come from the input: without this, one could move the cursor or show a line other than it is.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in text.chars() {
        if symbol.is_control() || is_direction_mark(symbol) || !is_xml_char(symbol) {
            out += &format!("\\u{{{:x}}}", symbol as u32);
        } else {
            out.push(symbol);
        }
    }
    out
}

fn is_direction_mark(symbol: char) -> bool {
    matches!(symbol, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
}

/// XML 1.0 has no room for these, escaped or not.
fn is_xml_char(symbol: char) -> bool {
    !matches!(symbol, '\u{fffe}' | '\u{ffff}')
}

/// Harmless text that can stand in XML and HTML, in attributes too.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in harmless(text).chars() {
        match symbol {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The same of a text with lines, for the inside of an element.
pub(crate) fn xml_lines(text: &str) -> String {
    text.split('\n').map(xml).collect::<Vec<_>>().join("\n")
}

/// The same of a text with lines, for an attribute: its reader makes a space of a line's end, unless it is spelled out.
pub(crate) fn xml_attribute(text: &str) -> String {
    text.split('\n').map(xml).collect::<Vec<_>>().join("&#10;")
}

/// Harmless text for HTML, in which words that are written from right to left keep to themselves.
///
/// Without this, the numbers of `r(שלום,1)` and `שלום.1 (line 4)` would be shown on the other side.
pub(crate) fn prose(text: &str) -> String {
    isolated(text, "<bdi>", "</bdi>")
}

/// The same for the text of a picture, which has no elements for it.
pub(crate) fn picture_text(text: &str) -> String {
    isolated(text, "\u{2068}", "\u{2069}")
}

/// Text for XML, with something around each run of words that are written from right to left.
fn isolated(text: &str, open: &str, close: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_right_to_left) {
        let run = &rest[start..];
        // Spaces between such words belong to them, and spaces behind the last one do not.
        let end = run.find(|it: char| it != ' ' && !is_right_to_left(it)).unwrap_or(run.len());
        let words = run[..end].trim_end_matches(' ');
        out += &format!("{}{open}{}{close}", xml(&rest[..start]), xml(words));
        rest = &run[words.len()..];
    }
    out + &xml(rest)
}

fn is_right_to_left(symbol: char) -> bool {
    matches!(symbol as u32, 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x10800..=0x10fff | 0x1e800..=0x1efff)
}

/// The text in ASCII: our own symbols by what is nearest to them, everything else spelled out.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol {
            '─' => out.push('-'),
            '│' => out.push('|'),
            '▶' => out.push('>'),
            '◀' => out.push('<'),
            '×' => out.push('x'),
            '…' => out.push_str("..."),
            '→' => out.push_str("->"),
            it if it.is_ascii() => out.push(it),
            other => out += &format!("\\u{{{:x}}}", other as u32),
        }
    }
    out
}

/// How many columns a text takes on a screen with letters of equal width, roughly.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(symbol: char) -> usize {
    match symbol as u32 {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text if it fits into so many columns; otherwise its two ends around dots.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let head = fitting(text.chars(), room - room / 3);
    let tail: String = fitting(text.chars().rev(), room / 3).chars().rev().collect();
    format!("{head}…{tail}")
}

fn fitting(symbols: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    symbols
        .take_while(|it| {
            used += char_width(*it);
            used <= columns
        })
        .collect()
}

/// The words of a text in lines of so many columns. A word that is longer gets a line of its own.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    wrapped_behind(0, text, columns)
}

/// The same, where something takes so many columns of the first line.
pub(crate) fn wrapped_behind(taken: usize, text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|it| !it.is_empty()) {
        let taken = if lines.len() == 1 { taken } else { 0 };
        match lines.last_mut() {
            Some(line) if taken + width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `1 key`, `2 keys`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_marks_are_spelled_out() {
        assert_eq!(harmless("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\u{a}");
        assert_eq!(xml("<a b='c'>&\u{0}"), "&lt;a b=&#39;c&#39;&gt;&amp;\\u{0}");
    }

    #[test]
    fn ascii_has_a_stand_in_for_everything() {
        assert_eq!(ascii("s1 ──rw…──▶ é 4×2"), "s1 --rw...--> \\u{e9} 4x2");
    }

    #[test]
    fn words_from_right_to_left_keep_to_themselves() {
        assert_eq!(prose("a < \u{5e9}.1 b"), "a &lt; <bdi>\u{5e9}</bdi>.1 b");
        assert_eq!(prose("r(\u{5e9} \u{5e9},1) \u{5e9} "), "r(<bdi>\u{5e9} \u{5e9}</bdi>,1) <bdi>\u{5e9}</bdi> ");
        assert_eq!(picture_text("w(\u{5e9},1)"), "w(\u{2068}\u{5e9}\u{2069},1)");
    }

    #[test]
    fn long_words_keep_both_ends() {
        assert_eq!(shortened("abcdefghijkl", 7), "abcd…kl");
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("😀😀😀", 4), "😀…");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("a bc  def g", 5), ["a bc", "def g"]);
        assert_eq!(wrapped("abcdefgh i", 3), ["abcdefgh", "i"]);
        assert_eq!(wrapped_behind(3, "a bc def g", 5), ["a", "bc", "def g"]);
    }
}
