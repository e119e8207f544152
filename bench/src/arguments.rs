//! The arguments of a task: flags, flags with a value, and the rest.

use anyhow::{Context, Result, bail};
use std::str::FromStr;

/// What has not been asked for yet.
#[derive(Debug)]
pub(crate) struct Arguments<'a>(Vec<&'a str>);

impl<'a> Arguments<'a> {
    pub(crate) fn new(words: &[&'a str]) -> Self {
        Self(words.to_vec())
    }

    /// Whether a flag is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let position = self.0.iter().position(|it| *it == name);
        position.map(|it| self.0.remove(it)).is_some()
    }

    /// The word after a flag.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<&'a str>> {
        let Some(position) = self.0.iter().position(|it| *it == name) else { return Ok(None) };
        if position + 1 == self.0.len() {
            bail!("{name} needs a value after it");
        }
        self.0.remove(position);
        Ok(Some(self.0.remove(position)))
    }

    /// The words after each flag of that name.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<&'a str>> {
        let mut found = Vec::new();
        while let Some(text) = self.text(name)? {
            found.push(text);
        }
        Ok(found)
    }

    /// The number after a flag.
    pub(crate) fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let number = text.replace('_', "").parse().ok();
        number.with_context(|| format!("{name} needs a number, found `{text}`")).map(Some)
    }

    /// The words that belong to no flag; a flag that nobody asked for is an error.
    pub(crate) fn rest(self) -> Result<Vec<&'a str>> {
        match self.0.iter().find(|it| it.starts_with('-') && it.len() > 1) {
            Some(unknown) => bail!("no such option: {unknown}; `cargo xtask help` lists them"),
            None => Ok(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_values_are_found_in_any_order() {
        let mut arguments = Arguments::new(&["balanced", "--txns", "10_000", "--no-times", "-o", "file"]);
        assert_eq!(arguments.number::<usize>("--txns").unwrap(), Some(10_000));
        assert_eq!(arguments.number::<usize>("--keys").unwrap(), None);
        assert!(arguments.flag("--no-times") && !arguments.flag("--no-times"));
        assert_eq!(arguments.text("-o").unwrap(), Some("file"));
        assert_eq!(arguments.rest().unwrap(), ["balanced"]);
    }

    #[test]
    fn what_nobody_asked_for_is_an_error() {
        assert!(Arguments::new(&["--txn", "5"]).rest().unwrap_err().to_string().contains("--txn"));
        assert!(Arguments::new(&["--txns"]).text("--txns").is_err());
        assert!(Arguments::new(&["--txns", "many"]).number::<usize>("--txns").is_err());
    }
}
