//! Numbers for people: counts, shares, rates and times in a few digits.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers for people have a few digits"
)]

/// `31,204`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 transaction`, `31,204 transactions`, `2 histories`.
pub(crate) fn many(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) if !stem.ends_with('e') => format!("{} {stem}ies", grouped(number)),
        _ => format!("{} {what}s", grouped(number)),
    }
}

/// A rate, without digits that say nothing: `0.4`, `12`, `3,120`.
pub(crate) fn rate(a_second: f64) -> String {
    if a_second < 9.95 && a_second > 0.0 { trimmed(a_second, 1) } else { grouped(a_second.round().max(0.0) as u64) }
}

/// How many in a second.
pub(crate) fn a_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// A number for an axis: `500`, `1.5k`, `20k`, `3M`.
pub(crate) fn short(number: f64) -> String {
    match number {
        it if it >= 1e6 => format!("{}M", trimmed(it / 1e6, 2)),
        it if it >= 1e3 => format!("{}k", trimmed(it / 1e3, 2)),
        it => trimmed(it, 2),
    }
}

/// `4 %`, `0.3 %`, `less than 0.1 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    match share {
        0.0 => "0 %".to_owned(),
        it if it < 0.1 => "less than 0.1 %".to_owned(),
        it if it < 9.95 => format!("{} %", trimmed(it, 1)),
        it => format!("{it:.0} %"),
    }
}

/// A time: `3 ms`, `0.45 s`, `10 s`, `1 min 20 s`, `2 h 5 min`.
pub(crate) fn span(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    let two = |large: u64, unit: &str, small: u64, part: &str| {
        if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {part}") }
    };
    match whole {
        _ if seconds <= 0.0 => "0 s".to_owned(),
        _ if seconds < 0.001 => "less than 1 ms".to_owned(),
        _ if seconds < 0.0995 => format!("{} ms", trimmed(seconds * 1000.0, 0)),
        _ if seconds < 0.995 => format!("{} s", trimmed(seconds, 2)),
        _ if seconds < 59.5 => format!("{} s", trimmed(seconds, 1)),
        0..3600 => two(whole / 60, "min", whole % 60, "s"),
        _ => two(whole / 3600, "h", whole % 3600 / 60, "min"),
    }
}

/// A moment of a run on an axis whose steps are this long: `0.5 s`, `20 s`, `1:30`, `2:00:00`.
pub(crate) fn moment(seconds: f64, longest: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match longest {
        _ if seconds == 0.0 => "0".to_owned(),
        it if it < 0.5 => format!("{} ms", trimmed(seconds * 1000.0, 1)),
        it if it <= 120.0 => format!("{} s", trimmed(seconds, 2)),
        it if it < 7200.0 => format!("{}:{:02}", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60),
    }
}

/// At most so many digits behind the point, and no zeros at the end.
fn trimmed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        assert_eq!([0, 999, 1000, 31_204, 1_234_567].map(grouped), ["0", "999", "1,000", "31,204", "1,234,567"]);
        assert_eq!([0.0, 0.42, 9.9, 12.4, 3120.2].map(rate), ["0", "0.4", "9.9", "12", "3,120"]);
        assert_eq!([0.0, 500.0, 1500.0, 2e4, 3e6].map(short), ["0", "500", "1.5k", "20k", "3M"]);
        assert_eq!(
            [(0, 0), (1, 5000), (3, 1000), (4, 100), (1, 2)].map(|(a, b)| percent(a, b)),
            ["0 %", "less than 0.1 %", "0.3 %", "4 %", "50 %"]
        );
        assert_eq!(many(2, "history"), "2 histories");
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let spans = [0.0, 0.0004, 0.003, 0.45, 10.02, 80.0, 7500.0].map(span);
        assert_eq!(spans, ["0 s", "less than 1 ms", "3 ms", "0.45 s", "10 s", "1 min 20 s", "2 h 5 min"]);
        assert_eq!([moment(0.05, 0.2), moment(0.5, 2.0), moment(90.0, 300.0)], ["50 ms", "0.5 s", "1:30"]);
    }
}
