//! `isoscope levels`: the catalogue of definitions, and the check of a user's own.

use crate::args::LevelsArgs;
use crate::exit::Exit;
use crate::{names, output, spec_file};
use iso_spec::{Catalogue, Level, Module, Spec};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Runs the verb.
pub(crate) fn run(raw: &LevelsArgs) -> anyhow::Result<Exit> {
    let text = match (&raw.show, &raw.check) {
        (Some(name), _) => {
            let spec = names::definition(name)?;
            if raw.json { document([spec]) } else { spec.show() }
        }
        (None, Some(path)) => {
            let module = spec_file::read(path)?;
            if raw.json { document(module.levels()) } else { own_levels(&module) }
        }
        (None, None) if raw.json => document(Catalogue::builtin().levels()),
        (None, None) => catalogue(),
    };
    output::print(&text)?;
    Ok(Exit::Good)
}

fn catalogue() -> String {
    let mut out =
        "Definitions by framework. A name in the second column means that definition, and is decided by the\n\
                   engine; the others are decided by the reference evaluator, which takes small histories.\n"
            .to_owned();
    let columns = output::terminal().columns.unwrap_or(100);
    for module in Catalogue::builtin().modules().iter().filter(|it| !it.levels().is_empty()) {
        let _ = write!(out, "\n{}\n", about(module));
        for spec in module.levels() {
            let names = format!("  {:<22} {:<4} ", spec.name(), bare(spec).unwrap_or_default());
            out += &wrapped(&names, spec.summary(), columns);
        }
    }
    out + "\nisoscope levels --show NAME prints a definition with its source; --check FILE.spec checks your own.\n"
}

/// Words behind names, wrapped where they do not fit.
fn wrapped(names: &str, words: &str, columns: usize) -> String {
    let indent = names.chars().count();
    let mut out = names.to_owned();
    let mut column = indent;
    for word in words.split_whitespace() {
        let width = word.chars().count();
        if column > indent && column + 1 + width > columns {
            let _ = write!(out, "\n{}", " ".repeat(indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.trim_end().to_owned() + "\n"
}

/// What the comment at the top of a module says.
fn about(module: &Module) -> String {
    let comment = module.text().lines().take_while(|it| it.starts_with("//") && !it.starts_with("///"));
    let words: Vec<&str> = comment.map(|it| it.trim_start_matches('/').trim()).collect();
    words.join("\n")
}

/// The bare name that means this definition.
fn bare(spec: &Spec) -> Option<&'static str> {
    Level::ALL.into_iter().find(|it| it.definition() == spec.name()).map(Level::short_name)
}

fn own_levels(module: &Module) -> String {
    let mut out = String::new();
    for spec in module.levels() {
        let _ = writeln!(out, "{}", format!("{:<22} {}", spec.name(), spec.summary()).trim_end());
    }
    out
}

fn document<'s>(levels: impl IntoIterator<Item = &'s Spec>) -> String {
    let level = |spec: &Spec| -> Value {
        json!({
            "name": spec.name(),
            "bare": bare(spec),
            "framework": spec.framework(),
            "summary": spec.summary(),
            "source": spec.source(),
            "choices": spec.choices(),
            "text": spec.text(),
        })
    };
    let levels: Vec<Value> = levels.into_iter().map(level).collect();
    format!("{}\n", json!({ "isoscope": 1, "verb": "levels", "levels": levels }))
}
