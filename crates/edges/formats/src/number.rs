//! Numbers in words: which are integers, which are kept as their text, and which are none.

use iso_history::Datum;

/// A number as JSON spells them: an integer of 64 bits, or its exact text.
pub(crate) fn parse(word: &str) -> Option<Datum> {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let n_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = n_digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return None;
    }
    let mut rest = &unsigned[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = &fraction[Some(n_digits(fraction)).filter(|it| *it > 0)?..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        rest = &exponent[Some(n_digits(exponent)).filter(|it| *it > 0)?..];
    }
    rest.is_empty().then(|| word.parse().map_or_else(|_| Datum::Number(word.into()), Datum::Int))
}

/// An integer if the word is one in its shortest spelling, otherwise the word.
pub(crate) fn integer_or_text(word: &str) -> Datum {
    match word.parse::<i64>() {
        Ok(number) if number.to_string() == word => Datum::Int(number),
        _ => Datum::text(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_json_calls_a_number_is_one() {
        for word in ["1.5", "-1.50", "1e5", "2E-3", "12345678901234567890"] {
            assert_eq!(parse(word), Some(Datum::Number(word.into())));
        }
        assert_eq!(parse("-12"), Some(Datum::Int(-12)));
        for word in ["", "-", "+1", "007", "1.", ".5", "1e", "1/2", "1-2", "0x1"] {
            assert_eq!(parse(word), None, "{word}");
        }
    }

    #[test]
    fn spellings_of_an_integer_stay_apart() {
        assert_eq!(integer_or_text("7"), Datum::Int(7));
        assert_eq!(integer_or_text("007"), Datum::text("007"));
        assert_eq!(integer_or_text("+7"), Datum::text("+7"));
    }
}
