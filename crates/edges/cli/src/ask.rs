//! Questions from within another program: the verbs without a terminal, and without an end of the process.
//!
//! Options are the words of the command line, so that a name, a default and a mistake are the same wherever somebody asks.
//! Texts come as texts; no file is read, and nothing is printed.

use crate::args::{Arguments, Verb};
use crate::clock::Instant;
use crate::commands::check::{self, Asked};
use crate::commands::{compare, predict, separate, verify};
use crate::effort;
use crate::exit::Exit;
use crate::hints;
use crate::judge::{Audience, Judge};
use crate::memory;
use crate::promise::Promised;
use crate::spec_file::OwnLevels;
use crate::text_file::Mistakes;
use crate::unseen::Unseen;
use clap::Parser;
use iso_answer::check::Certifying;
use iso_evidence::Budget;
use iso_formats::Header;
use iso_history::{Defect, Facts, History};
use iso_report::{
    CheckReport, Counts, DurabilityReport, Judgement, LevelReport, PromiseVerdict, Report, Run, Surroundings,
};
use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;

/// A history, and what is known of it besides.
#[derive(Clone, Copy, Debug)]
pub struct Given<'h> {
    /// What messages and reports call it.
    pub name: &'h str,
    /// The history.
    pub history: &'h History,
    /// What was found at reading it that does not make it unusable.
    pub defects: &'h [Defect],
    /// What the header of its file says: the database that it was recorded from, and how.
    pub header: &'h Header,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Told {
    /// The document.
    pub report: Report,
    /// What people should know besides.
    pub notes: Vec<String>,
}

impl Told {
    /// What the command would end with: 0 if all is well, 1 if something was found, 3 if it is not known.
    pub fn exit_code(&self) -> i32 {
        Exit::of(&self.report).code()
    }
}

/// Why a question could not be asked.
#[derive(Clone, Debug)]
pub struct Unasked {
    /// The whole message, as the command line prints it.
    pub message: String,
    /// Where a text is wrong, if one is.
    pub places: Vec<Place>,
}

/// A mistake in a text, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, if it is known.
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// The cure, if one is known.
    pub hint: String,
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unasked {}

impl From<anyhow::Error> for Unasked {
    fn from(error: anyhow::Error) -> Self {
        let places = error.downcast_ref::<Mistakes>().map(|it| it.places.clone()).unwrap_or_default();
        Self { message: format!("{error:#}"), places }
    }
}

/// A user's levels: the name of a spec file, and its text.
pub type SpecText = (String, String);

/// Does a history satisfy levels? As `isoscope check`: all usual levels, if none is named.
pub fn check(
    given: &Given<'_>,
    levels: &[String],
    spec: Option<&SpecText>,
    database: Option<&str>,
    budget: &Budget<'_>,
) -> Result<Told, Unasked> {
    let started = Instant::now();
    let own = own_levels(spec.map(std::slice::from_ref).unwrap_or_default())?;
    let named = check::resolve_names(levels, own.modules().next(), database)?;
    let Asked { questions, promised, note } =
        check::asked(named.as_deref(), given.history, given.header.database.as_ref())?;
    let collector = Collector::default();
    collector.notes.borrow_mut().extend(note);
    collector.notes.borrow_mut().extend(check::notes_on(given.history, named.is_some()));
    let judge = Judge { certifying: Certifying::Yes, max_order: None, budget: *budget };
    judge.ask(given.history, &questions, &collector, &effort::Shared::default());
    let Collector { levels: answers, notes } = collector;
    let answers = answers.into_inner();
    // Engines answer in an order of their own.
    let answer_to = |name| answers.iter().find(|it| it.level == name).cloned();
    let mut levels: Vec<LevelReport> = questions.iter().filter_map(|it| answer_to(it.name())).collect();
    let unseen = Unseen::of(given.header.origin.as_deref());
    for level in &mut levels {
        unseen.mark(level);
    }
    let run = Run {
        inputs: vec![given.name.to_owned()],
        defects: given.defects.to_vec(),
        seconds: started.elapsed().as_secs_f64(),
        peak_bytes: memory::peak(),
    };
    let mut report = document(given.history, levels, promised.as_ref(), run);
    report.durability = DurabilityReport::new(given.history, &given.header.final_sessions).map(Box::new);
    Ok(Told { report: report.into(), notes: notes.into_inner() })
}

fn document(history: &History, levels: Vec<LevelReport>, promised: Option<&Promised>, run: Run) -> CheckReport {
    let promise = promised.map(|it| {
        let mut promise = it.report();
        let found = levels.iter().find(|level| level.level == promise.level);
        promise.verdict = found.map_or(PromiseVerdict::Unknown, |found| (&found.judgement).into());
        Box::new(promise)
    });
    let is_allowed = levels.iter().any(|it| matches!(it.judgement, Judgement::Holds { .. }));
    let violated: Vec<LevelReport> =
        levels.iter().filter(|it| matches!(it.judgement, Judgement::Violated { .. })).cloned().collect();
    let whole = CheckReport::whole(history).filter(|_| is_allowed);
    let is_large = whole.is_none() && !violated.is_empty();
    let surroundings = if is_large { Surroundings::new(history, &violated).map(Box::new) } else { None };
    let counts = Some(Counts::of(history));
    CheckReport { history: counts, promise, levels, whole, surroundings, ..CheckReport::of_unreadable(run) }
}

#[derive(Default)]
struct Collector {
    levels: RefCell<Vec<LevelReport>>,
    notes: RefCell<Vec<String>>,
}

impl Audience for Collector {
    fn looked_at(&self, facts: &Facts<'_>) {
        self.notes.borrow_mut().extend(hints::initial_value(facts));
    }

    fn asking(&self, _what: &str) {}

    fn decided(&self, report: LevelReport) {
        self.levels.borrow_mut().push(report);
    }
}

/// What could have happened instead of this run? `words` are options of `isoscope predict`.
pub fn predict(given: &Given<'_>, words: &[String], budget: &Budget<'_>) -> Result<Told, Unasked> {
    let Verb::Predict(raw) = verb("predict", &[given.name], words)? else { return Err(other_verb()) };
    let defects = given.defects.iter().cloned().map(Into::into).collect();
    let report = predict::ask(&raw, given.history, defects, budget)?;
    Ok(Told { report: report.into(), notes: Vec::new() })
}

/// Does a program keep its invariants? `words` are options of `isoscope verify`.
pub fn verify(name: &str, text: &str, words: &[String], budget: &Budget<'_>) -> Result<Told, Unasked> {
    let Verb::Verify(raw) = verb("verify", &[name], words)? else { return Err(other_verb()) };
    let report = verify::ask(&raw, text, budget)?;
    Ok(Told { report: report.into(), notes: Vec::new() })
}

/// Which history do levels allow and others forbid? `words` are options of `isoscope separate`.
pub fn separate(words: &[String], specs: &[SpecText], budget: &Budget<'_>) -> Result<Told, Unasked> {
    let Verb::Separate(raw) = verb("separate", &[], words)? else { return Err(other_verb()) };
    let (report, notes) = separate::ask(&raw, &own_levels(specs)?, budget)?;
    Ok(Told { report: report.into(), notes })
}

/// How do two levels relate? `words` are the levels and options of `isoscope compare`.
pub fn compare(words: &[String], specs: &[SpecText], budget: &Budget<'_>) -> Result<Told, Unasked> {
    let Verb::Compare(raw) = verb("compare", &[], words)? else { return Err(other_verb()) };
    let (report, notes) = compare::ask(&raw, &own_levels(specs)?, budget)?;
    Ok(Told { report: report.into(), notes })
}

/// The levels of a text, by their full names.
pub fn levels(spec: &SpecText) -> Result<Vec<String>, Unasked> {
    let own = own_levels(std::slice::from_ref(spec))?;
    Ok(own.levels().map(|it| it.name().to_owned()).collect())
}

fn own_levels(specs: &[SpecText]) -> Result<OwnLevels, Unasked> {
    let texts: Vec<(PathBuf, String)> = specs.iter().map(|(name, text)| (PathBuf::from(name), text.clone())).collect();
    Ok(OwnLevels::of(&texts)?)
}

/// The arguments of a verb as the command line would read them.
fn verb(name: &str, inputs: &[&str], words: &[String]) -> Result<Verb, Unasked> {
    // An input that begins with a dash is a name, too.
    let inputs = if inputs.is_empty() { Vec::new() } else { [&["--"], inputs].concat() };
    let all = ["isoscope", name].into_iter().chain(words.iter().map(String::as_str)).chain(inputs);
    match Arguments::try_parse_from(all) {
        Ok(arguments) => Ok(arguments.verb),
        Err(error) => {
            let shown = error.to_string();
            let first = shown.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            Err(Unasked { message: first.trim().to_owned(), places: Vec::new() })
        }
    }
}

fn other_verb() -> Unasked {
    Unasked { message: "these words ask for another verb".to_owned(), places: Vec::new() }
}
