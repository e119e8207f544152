//! `isoscope demo`: three anomalies that every newcomer should meet, with their stories.

use crate::args::DemoArgs;
use crate::effort;
use crate::exit::Exit;
use crate::judge::{Audience, Judge};
use crate::names::Question;
use crate::output;
use anyhow::{Context, anyhow};
use iso_evidence::Budget;
use iso_formats::{ReadOptions, read_from};
use iso_report::{CheckReport, Counts, Finding, Frame, LevelReport, Run, findings};
use iso_spec::Level;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// An anomaly with its story.
struct Episode {
    title: &'static str,
    file: &'static str,
    text: &'static str,
    before: &'static str,
    after: &'static str,
}

const EPISODES: [Episode; 3] = [
    Episode {
        title: "The lost update",
        file: "lost-update",
        text: include_str!("../../../../../corpus/anomalies/lost-update.history"),
        before: "Two clients pay into one account at the same time. Each reads the balance, adds its money, and writes\n\
                 the sum back. Both commits succeed, and nobody sees an error.",
        after: "In the end the balance is 130 or 150, and not 180: one deposit is gone. Read committed, the default of\n\
                many databases, promises nothing here; snapshot isolation (si) and everything above it does. Where\n\
                you cannot have that, SELECT ... FOR UPDATE helps.",
    },
    Episode {
        title: "Half a transaction",
        file: "fractured-read",
        text: include_str!("../../../../../corpus/anomalies/fractured-read.history"),
        before: "One client changes x and y in one transaction. Another one reads y before that change and x after it.",
        after: "The reader saw half of a transaction, a state that never existed. Read committed (rc) looks at each\n\
                read by itself; read atomic (ra) and everything above it show a transaction as a whole or not at all.",
    },
    Episode {
        title: "The write skew",
        file: "write-skew",
        text: include_str!("../../../../../corpus/anomalies/write-skew.history"),
        before: "A hospital wants one doctor on call. Alice and Bob both are; each of them looks, sees the other one,\n\
                 and signs off. They write different rows, so their writes do not collide.",
        after: "Now nobody is on call. Snapshot isolation (si), which some databases call repeatable read or even\n\
                serializable, allows this; of these levels only serializability (ser) forbids it.",
    },
];

/// The levels that a newcomer meets first.
const LEVELS: [Level; 8] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::UpdateAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// Runs the verb.
pub(crate) fn run(raw: &DemoArgs) -> anyhow::Result<Exit> {
    std::fs::create_dir_all(&raw.out).with_context(|| format!("cannot make the folder {}", raw.out.display()))?;
    output::print(OPENING)?;
    let mut page = PAGE_HEAD.to_owned();
    let mut files: Vec<PathBuf> = Vec::new();
    for (idx, episode) in EPISODES.iter().enumerate() {
        let report = judged(episode)?;
        output::print(&told(idx + 1, episode, &report))?;
        page += &section(episode, &report);
        for finding in &findings(&report) {
            let path = raw.out.join(format!("isoscope-demo-{}.svg", finding.title()));
            write(&path, &iso_report::figure_svg(finding, Frame::Titled), &mut files)?;
        }
    }
    page += "</main>\n</body>\n</html>\n";
    write(&raw.out.join("isoscope-demo.html"), &page, &mut files)?;
    output::print(&closing(&files))?;
    Ok(Exit::Good)
}

const OPENING: &str = "\
Isoscope judges what a database did: give it a record of who read and wrote what, and it says which isolation
levels that record keeps and which it breaks, and why. Here are three short records, one anomaly each.

How to read them: a line is a session, braces are a transaction, r(x,1) read 1 from x, w(x,2) wrote 2 to it.
";

fn closing(files: &[PathBuf]) -> String {
    let shown = |path: &PathBuf| path.strip_prefix(".").unwrap_or(path).display().to_string();
    let names: Vec<String> = files.iter().rev().map(|it| format!("  {}", shown(it))).collect();
    format!(
        "\nWritten:\n{}\n\nNow with your own:\n  isoscope check FILE           judge a history at every level\n  \
         isoscope check --help         formats, levels, options\n  isoscope levels               the definitions\n",
        names.join("\n")
    )
}

fn write(path: &Path, text: &str, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    output::write_file(path, text.as_bytes())?;
    files.push(path.to_owned());
    Ok(())
}

/// Collects answers.
struct Collected(RefCell<Vec<LevelReport>>);

impl Audience for Collected {
    fn asking(&self, _: &str) {}

    fn decided(&self, report: LevelReport) {
        self.0.borrow_mut().push(report);
    }
}

fn judged(episode: &Episode) -> anyhow::Result<CheckReport> {
    let name = format!("{}.history", episode.file);
    let started = Instant::now();
    let history = read_from(&name, episode.text.as_bytes(), &ReadOptions::default())?
        .into_history()
        .map_err(|defects| anyhow!("{}", defects.first().map(ToString::to_string).unwrap_or_default()))?;
    let questions = LEVELS.map(Question::Level);
    let answers = Collected(RefCell::default());
    Judge { certifies: true, max_order: None, budget: Budget::unlimited() }.ask(
        &history,
        &questions,
        &answers,
        &effort::Shared::default(),
    );
    let mut levels = answers.0.into_inner();
    levels.sort_by_key(|it| LEVELS.iter().position(|level| level.short_name() == it.level.short));
    let run = Run { inputs: vec![name], seconds: started.elapsed().as_secs_f64(), ..Run::default() };
    Ok(CheckReport { history: Some(Counts::of(&history)), levels, ..CheckReport::of_unreadable(run) })
}

fn told(number: usize, episode: &Episode, report: &CheckReport) -> String {
    let rule = "-".repeat(100 - episode.title.len() - 4);
    let words = iso_report::text(report, output::terminal());
    let words: String = words.lines().filter(|it| !it.starts_with("For a picture")).flat_map(|it| [it, "\n"]).collect();
    format!(
        "\n{number}. {} {rule}\n\n{}\n\n{}\n\n{}\n\n{}\n",
        episode.title,
        episode.before,
        indented(&operations(episode.text)),
        words.trim_end(),
        episode.after
    )
}

/// The history without the header of its file.
fn operations(text: &str) -> String {
    text.lines().filter(|it| !it.starts_with('#')).collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|it| format!("    {it}")).collect::<Vec<_>>().join("\n")
}

const PAGE_HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Isoscope: three anomalies</title>\n\
    <style>body{font:16px/1.5 system-ui,sans-serif;color:#1f2328;background:#fff;margin:0}\
    main{max-width:54rem;margin:2rem auto;padding:0 1rem}pre{background:#f6f8fa;padding:.8rem;overflow:auto;\
    border-radius:6px}svg{max-width:100%;height:auto}h2{margin-top:3rem}</style>\n</head>\n<body>\n<main>\n\
    <h1>Three anomalies</h1>\n";

fn section(episode: &Episode, report: &CheckReport) -> String {
    let mut out = format!("<h2>{}</h2>\n<p>{}</p>\n", escaped(episode.title), escaped(episode.before));
    let _ = writeln!(out, "<pre>{}</pre>", escaped(&operations(episode.text)));
    for finding in &findings(report) {
        let _ = writeln!(out, "{}", figure(finding));
    }
    let _ = writeln!(out, "<p>{}</p>", escaped(episode.after));
    let _ = writeln!(out, "<pre>{}</pre>", escaped(&verdicts(report)));
    out
}

fn figure(finding: &Finding<'_>) -> String {
    let svg = iso_report::figure_svg(finding, Frame::Titled);
    // Inside a page a picture has no prologue.
    svg.find("<svg").map_or_else(String::new, |start| svg[start..].to_owned())
}

fn verdicts(report: &CheckReport) -> String {
    let line = |it: &LevelReport| {
        let anomalies = it.judgement.anomalies().join(", ");
        format!("{:<4} {:<28} {:<9} {anomalies}", it.level.short, it.level.full, it.judgement.word())
            .trim_end()
            .to_owned()
    };
    report.levels.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
