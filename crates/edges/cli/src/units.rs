//! Durations and sizes as people write them: `90s`, `1.5m`, `8GiB`.

use std::time::Duration;

const DURATIONS: [(&str, f64); 9] = [
    ("ms", 0.001),
    ("sec", 1.0),
    ("s", 1.0),
    ("min", 60.0),
    ("m", 60.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("h", 3600.0),
    ("", 1.0),
];

const SIZES: [(&str, f64); 17] = [
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
    ("ki", 1024.0),
    ("mi", 1_048_576.0),
    ("gi", 1_073_741_824.0),
    ("ti", 1_099_511_627_776.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("t", 1_099_511_627_776.0),
    ("b", 1.0),
];

/// A time limit; a bare number is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = "write a time such as 500ms, 60s, 5m or 2h";
    let seconds = scaled(text, &DURATIONS).ok_or(expected)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Err(format!("{text} leaves no time to run at all; {expected}")),
        Ok(time) => Ok(time),
        Err(_) => Err(expected.to_owned()),
    }
}

/// A memory limit; a bare number is bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let expected = "write a size such as 500MiB or 8GiB";
    let bytes = scaled(text, &SIZES).or_else(|| text.trim().parse().ok()).ok_or(expected)?;
    #[allow(clippy::cast_sign_loss, reason = "numbers that `scaled` gives are not negative")]
    let bytes = bytes as u64;
    if bytes < MIN_MEMORY {
        return Err(format!("{text} is too little to run at all; {expected}"));
    }
    Ok(bytes)
}

/// How much to keep on disk, or `none`.
pub(crate) fn parse_spool(text: &str) -> Result<u64, String> {
    if text.trim().eq_ignore_ascii_case("none") { Ok(0) } else { parse_size(text) }
}

/// The program alone takes a part of this.
const MIN_MEMORY: u64 = 16 << 20;

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|it| it.0 == unit.trim())?.1;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5 m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("7"), Ok(Duration::from_secs(7)));
        for wrong in ["", "s", "-1s", "0s", "1 fortnight", "1e400s", "nan", "inf"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("8GiB"), Ok(8 << 30));
        assert_eq!(parse_size("8g"), Ok(8 << 30));
        assert_eq!(parse_size("500 MB"), Ok(500_000_000));
        assert_eq!(parse_size("67108864"), Ok(64 << 20));
        assert_eq!((parse_spool("none"), parse_spool("1GiB")), (Ok(0), Ok(1 << 30)));
        for wrong in ["", "GiB", "-1G", "1KiB", "8 boxes"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
