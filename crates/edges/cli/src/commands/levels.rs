//! `isoscope levels`: the catalogue of definitions, and the check of a user's own.

use crate::args::LevelsArgs;
use crate::exit::Exit;
use crate::output::wrapped;
use crate::{names, output, spec_file};
use iso_spec::{Catalogue, Level, Module, Spec};
use serde_json::{Value, json};

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

const INTRODUCTION: &str = "Definitions by framework. A name in the second column means that definition: the engine \
    decides it for histories of any size. The reference evaluator decides the others, for small histories.";

fn catalogue() -> String {
    let columns = output::columns();
    let mut out = wrapped("", INTRODUCTION, columns);
    for module in Catalogue::builtin().modules().iter().filter(|it| !it.levels().is_empty()) {
        out += "\n";
        out += &wrapped("", &about(module), columns);
        for spec in module.levels() {
            let names = format!("  {:<22} {:<13} ", spec.name(), bare(spec).unwrap_or_default());
            out += &wrapped(&names, spec.summary(), columns);
        }
    }
    out += "\n";
    out + &wrapped(
        "",
        "isoscope levels --show NAME prints a definition and its source; --check FILE.spec checks yours.",
        columns,
    )
}

/// What the comment at the top of a module says.
fn about(module: &Module) -> String {
    let comment = module.text().lines().take_while(|it| it.starts_with("//") && !it.starts_with("///"));
    let words: Vec<&str> = comment.map(|it| it.trim_start_matches('/').trim()).collect();
    words.join(" ")
}

/// The bare name that means this definition.
fn bare(spec: &Spec) -> Option<&'static str> {
    Level::ALL.into_iter().find(|it| it.definition() == spec.name()).map(Level::short_name)
}

fn own_levels(module: &Module) -> String {
    let line = |spec: &Spec| wrapped(&format!("{:<22} ", spec.name()), spec.summary(), output::columns());
    module.levels().iter().map(line).collect()
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
    format!("{}\n", json!({ "isoscope": 2, "verb": "levels", "levels": levels }))
}
