//! Reads a construction: how the witness of one level is made of another one's, as definitions.
//!
//! `def made_vis = ..` makes `vis`, `def made_vo[x] = ..` versions, `def order_1 = ..` extends a strict order to a total one,
//! and `def state_1(v, a) = ..` says which transactions a state has that the level asks for.

use anyhow::{Context, bail};
use iso_evidence::Construction;
use iso_spec::Spec;
use std::path::Path;

/// Reads the construction for a level from a file.
pub(crate) fn read(path: &Path, weaker: &Spec) -> anyhow::Result<Construction> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut construction =
        Construction { made: vec![String::new(); weaker.witnesses().len()], ..Construction::default() };
    for (line, name, body) in definitions(&text) {
        let at = || format!("{}: line {line}", path.display());
        let numbered = |prefix: &str| name.strip_prefix(prefix).and_then(|it| it.parse::<usize>().ok());
        if let Some(made) = name.strip_prefix("made_") {
            let Some(idx) = weaker.witnesses().iter().position(|it| it.name == made) else {
                let known: Vec<String> = weaker.witnesses().iter().map(|it| format!("made_{}", it.name)).collect();
                bail!("{}: {} has no `{made}`; define {}", at(), weaker.name(), known.join(", "));
            };
            construction.made[idx] = body;
        } else if let Some(number) = numbered("order_") {
            place(&mut construction.orders, number, body).with_context(at)?;
        } else if let Some(number) = numbered("state_") {
            place(&mut construction.prefixes, number, Some(body)).with_context(at)?;
        } else {
            bail!("{}: `{name}` is no part of a construction; define made_NAME, order_1 or state_1", at());
        }
    }
    if let Some(missing) = construction.made.iter().position(String::is_empty) {
        let name = &weaker.witnesses()[missing].name;
        bail!("{}: {} wants `{name}`; add `def made_{name} = ..`", path.display(), weaker.name());
    }
    Ok(construction)
}

fn place<T>(all: &mut Vec<T>, number: usize, body: T) -> anyhow::Result<()> {
    if number != all.len() + 1 {
        bail!("this is number {number}, and number {} is expected; count from 1 and leave none out", all.len() + 1);
    }
    all.push(body);
    Ok(())
}

/// Each definition: its line, its name without parameters, and its text.
fn definitions(text: &str) -> Vec<(usize, String, String)> {
    let mut all: Vec<(usize, String, String)> = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default().trim();
        match (line.strip_prefix("def "), all.last_mut()) {
            (Some(rest), _) => {
                let (head, body) = rest.split_once('=').unwrap_or((rest, ""));
                let name = head.split(['[', '(']).next().unwrap_or_default().trim();
                all.push((idx + 1, name.to_owned(), body.trim().to_owned()));
            }
            (None, Some(last)) if !line.is_empty() => {
                last.2.push(' ');
                last.2.push_str(line);
            }
            (None, None) if !line.is_empty() => all.push((idx + 1, line.to_owned(), String::new())),
            (None, _) => {}
        }
    }
    all
}
