//! `isoscope demo`: the same contended work on two databases, one of which is weak, and what check says of both.

use crate::args::DemoArgs;
use crate::effort;
use crate::exit::Exit;
use crate::judge::{Audience, Judge};
use crate::names::Question;
use crate::output::{self, Rendering};
use crate::progress::Painter;
use anyhow::Context;
use iso_answer::check::Certifying;
use iso_collect::{
    Collected, Control, FinalRead, Likeliness, Parameters, Plan, Retries, collect_history, open, workload,
};
use iso_evidence::Budget;
use iso_formats::write_recorded_path;
use iso_history::History;
use iso_report::{CheckReport, Counts, DemoAct, DemoReport, LevelReport, Report, Run, Surroundings};
use iso_spec::Level;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const SESSIONS: usize = 6;
const TXNS: usize = 20;
const KEYS: usize = 4;
/// How often a transaction is tried again that the database aborted.
const RETRIES: usize = 10;

/// A database, with what it should teach.
struct Act {
    title: &'static str,
    name: &'static str,
    url: &'static str,
    isolation: &'static str,
    before: &'static str,
    after: &'static str,
}

const ACTS: [Act; 2] = [
    Act {
        title: "SQLite",
        name: "sqlite",
        url: "sqlite:",
        isolation: "serializable-immediate",
        before: "A real database, in a temporary file. Each transaction reads some counters and writes them back.",
        after: "Six clients at once, and yet it is as if one had come after the other, even in real time: SQLite lets one\n\
                of them write (BEGIN IMMEDIATE), and the others wait.",
    },
    Act {
        title: "A store that is causally consistent",
        name: "store",
        url: "store:cc?policy=random&seed=1",
        isolation: "cc",
        before: "The same work on a store as weak as causal consistency (cc) allows, as databases with several copies\n\
                 may be. All commits succeed, and nobody sees an error.",
        after: "Some of the work is gone, or was never seen by those who came later: that is what the levels above cc\n\
                forbid. The lines above are the few operations, of all that were recorded, that show it.",
    },
];

/// Runs the verb.
pub(crate) fn run(raw: &DemoArgs, started: Instant) -> anyhow::Result<Exit> {
    std::fs::create_dir_all(&raw.out).with_context(|| format!("cannot make the folder {}", raw.out.display()))?;
    let mut acts: Vec<DemoAct> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    for act in &ACTS {
        let painter = Painter::start(&format!("running transactions on {}", act.name), started);
        let (history, collected) = recorded(act)?;
        let path = raw.out.join(format!("isoscope-demo-{}.jsonl", act.name));
        write_recorded_path(&history, "{\"workload\":\"rmw\"}", &path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        painter.stage(format!("checking what {} did", act.name));
        acts.push(DemoAct {
            title: act.title.to_owned(),
            before: act.before.to_owned(),
            ran: counts(&collected),
            after: act.after.to_owned(),
            check: judged(&history, &path),
        });
        files.push(path);
    }
    let report = Report::Demo(DemoReport { title: TITLE.to_owned(), lead: OPENING.to_owned(), acts });
    output::print(&report.text(output::terminal()))?;
    let path = raw.out.join("isoscope-demo.html");
    output::write_file(&path, Rendering::Html.render(&report).as_bytes())?;
    files.push(path);
    output::print(&closing(&files))?;
    Ok(Exit::Good)
}

const TITLE: &str = "Six clients, two databases";

const OPENING: &str = "\
Isoscope runs work on a database, records who read and wrote what, and says which isolation levels that record
keeps, which it breaks, and why. Here are two databases, and six clients that change four counters at once.

How to read what follows: s1.3 is the third transaction of session s1, r(2,17) read 17 from counter 2, and
w(2,21) wrote 21 to it.
";

fn closing(files: &[PathBuf]) -> String {
    let shown = |path: &Path| path.strip_prefix(".").unwrap_or(path).display().to_string();
    let names: Vec<String> = files.iter().rev().map(|it| format!("  {}", shown(it))).collect();
    let store = files.iter().find(|it| it.to_string_lossy().contains("-store.")).map(|it| shown(it));
    format!(
        "\nWritten:\n{}\n\nNext:\n  isoscope check {} --report why.html\n  isoscope hunt store:cc --expect ser            \
         the smallest script that breaks a database\n  isoscope hunt mysql://root@localhost/test -i repeatable-read \
         --expect si\n  isoscope collect postgres://me@localhost/test -i serializable -o run.jsonl\n  isoscope --help\n",
        names.join("\n"),
        store.unwrap_or_default(),
    )
}

/// Runs the work on a database.
fn recorded(act: &Act) -> anyhow::Result<(History, Collected)> {
    let parameters = Parameters {
        sessions: SESSIONS,
        keys: KEYS,
        min_ops: 1,
        max_ops: 3,
        reads: 0.4,
        keys_like: Likeliness::Uniform,
    };
    let database: Arc<dyn iso_collect::Database> = Arc::from(open(act.url)?);
    let plan = Plan {
        workload: workload("rmw", &parameters).context("there is no such workload")?,
        isolations: vec![act.isolation.to_owned(); SESSIONS],
        txns: Some(TXNS),
        duration: None,
        seed: 1,
        retries: Retries::UpTo(RETRIES),
        final_read: FinalRead::No,
        faults: None,
        pause: std::time::Duration::ZERO,
        origin: "{\"workload\":\"rmw\"}".to_owned(),
    };
    Ok(collect_history(&database, &plan, &Arc::new(Control::new()))?)
}

/// Collects answers.
struct Answers(RefCell<Vec<LevelReport>>);

impl Audience for Answers {
    fn asking(&self, _: &str) {}

    fn decided(&self, report: LevelReport) {
        self.0.borrow_mut().push(report);
    }
}

fn judged(history: &History, path: &Path) -> CheckReport {
    let started = Instant::now();
    let usual = Level::usual();
    let questions: Vec<Question<'_>> = usual.iter().copied().map(Question::Level).collect();
    let answers = Answers(RefCell::default());
    let judge = Judge { certifying: Certifying::Yes, max_order: Some(0), budget: Budget::unlimited() };
    judge.ask(history, &questions, &answers, &effort::Shared::default());
    let mut levels = answers.0.into_inner();
    levels.sort_by_key(|it| usual.iter().position(|level| level.short_name() == it.level.short));
    let inputs = vec![path.display().to_string()];
    let run = Run { inputs, seconds: started.elapsed().as_secs_f64(), ..Run::default() };
    let surroundings = Surroundings::new(history, &levels).map(Box::new);
    CheckReport { history: Some(Counts::of(history)), levels, surroundings, ..CheckReport::of_unreadable(run) }
}

fn counts(collected: &Collected) -> String {
    let counts = &collected.counts;
    format!("On {}: {} transactions committed, {} aborted.", collected.database, counts.committed, counts.conflicts)
}
