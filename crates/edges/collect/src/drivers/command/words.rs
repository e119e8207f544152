//! A command as words, quoted as in a shell. No shell runs it.

/// The words of a command.
pub(super) fn words_of(command: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => word.extend(letters.next()),
                        Some(other) => word.push(other),
                        None => return Err(format!("a {letter} in the command of the driver is not closed")),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err("it is no command; write command:./driver ARGUMENTS".to_owned());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_keep_words_together() {
        assert_eq!(words_of("./driver  a b").unwrap(), ["./driver", "a", "b"]);
        assert_eq!(words_of(r#"d 'a b' "c \" d" e\ f '' x'y'z"#).unwrap(), ["d", "a b", "c \" d", "e f", "", "xyz"]);
        assert!(words_of("").is_err() && words_of("d 'a").is_err());
    }
}
