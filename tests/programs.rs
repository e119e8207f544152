//! Every program of the corpus is what its header says, under every level, and its page says the same.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../crates/engines/verify/tests/agreement/oracle.rs"]
mod oracle;
#[path = "../crates/engines/verify/tests/agreement/statements.rs"]
mod statements;

use isoscope::evidence::Budget;
use isoscope::program::{Program, Symbol, parse, pretty};
use isoscope::spec::Level;
use isoscope::verify::{Answer, Database, DatabaseLevel, Isolation, LEVELS, verify, verify_levels};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A program of the corpus.
struct Sample {
    name: String,
    text: String,
    program: Program,
}

#[test]
fn every_program_is_what_its_header_says() {
    let mut found = Vec::new();
    for sample in samples() {
        let expected = expected(&sample);
        for level in LEVELS {
            let answer = word(&verify(&sample.program, level, &Budget::unlimited()).answer);
            if answer != expected[level.short_name()] {
                found.push(format!(
                    "{} {}: the header says {}, found {answer}",
                    sample.name,
                    level.short_name(),
                    expected[level.short_name()]
                ));
            }
        }
    }
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn levels_that_share_a_formula_give_the_same_answers() {
    for sample in samples() {
        let expected = expected(&sample);
        verify_levels(&sample.program, &LEVELS, &Budget::unlimited(), &mut |level, it| {
            assert_eq!(word(&it.answer), expected[level.short_name()], "{} {}", sample.name, level.short_name());
        });
    }
}

#[test]
fn integers_may_be_as_wide_and_as_narrow_as_the_language_allows() {
    for (width, expected) in [(32, "holds"), (4, "violated")] {
        let text = format!(
            "width {width}\nvar x: int = any int in 1..3\ntxn t(n: int) {{ x = x * n }}\nrun 2 * t(2)\ninvariant x > 0"
        );
        let program = parse(&text, "wide.txn").unwrap();
        for level in LEVELS {
            assert_eq!(word(&verify(&program, level, &Budget::unlimited()).answer), expected, "{width} {level}");
        }
    }
}

/// Brute force tries every open value, order and visibility, so ranges must be small.
#[test]
fn brute_force_says_the_same_where_it_can() {
    let mut n_compared = 0;
    for sample in samples() {
        if n_valuations(&sample.program) > 100 || sample.program.instances().len() > 4 {
            continue;
        }
        n_compared += 1;
        let expected = expected(&sample);
        for level in LEVELS {
            let is_violated = oracle::is_violated(&sample.program, level);
            assert_eq!(is_violated, expected[level.short_name()] == "violated", "{} {level}", sample.name);
        }
    }
    assert!(n_compared > 15, "only {n_compared} programs are small enough");
}

/// What is left out there: the same programs with smaller ranges, whatever their verdicts are then.
#[test]
fn brute_force_says_the_same_of_smaller_ranges() {
    let smaller =
        [("-1000..1000", "-1..1"), ("..3000", "..3"), ("..1000", "..1"), ("1..1)", "1..2)"), ("1..10)", "1..2)")];
    let mut n_compared = 0;
    for sample in samples() {
        if n_valuations(&sample.program) <= 100 {
            continue;
        }
        let text = smaller.iter().fold(sample.text.clone(), |text, it| text.replace(it.0, it.1));
        let program = parse(&text, &sample.name).unwrap();
        if n_valuations(&program) > 1000 || program.instances().len() > 4 {
            continue;
        }
        n_compared += 1;
        for level in LEVELS {
            let answer = word(&verify(&program, level, &Budget::unlimited()).answer);
            let is_violated = oracle::is_violated(&program, level);
            assert_eq!(answer == "violated", is_violated, "{} {level}\n{text}", sample.name);
        }
    }
    assert!(n_compared > 4, "only {n_compared} programs are small enough");
}

fn n_valuations(program: &Program) -> u64 {
    program.symbols().iter().map(Symbol::n_values).fold(1, u64::saturating_mul)
}

/// The interpreter runs what the engine found and judges it; the checker must allow its history under the level.
#[test]
fn what_breaks_a_program_is_real_and_allowed_by_the_level() {
    let mut n_certified = 0;
    for sample in samples() {
        for level in LEVELS {
            match verify(&sample.program, level, &Budget::unlimited()).answer {
                Answer::Violated(violation) => {
                    n_certified += 1;
                    assert!(!violation.forbidden_by.contains(&level.into()), "{} {level}", sample.name);
                }
                Answer::Refused(wrong) => panic!("{} {level}: {wrong}", sample.name),
                Answer::Holds(_) | Answer::Undecided(_) => {}
            }
        }
    }
    assert!(n_certified > 20, "only {n_certified} programs are broken at some level");
}

#[test]
fn what_holds_under_a_level_holds_under_every_stronger_one() {
    for sample in samples() {
        let expected = expected(&sample);
        let holds = |it: Level| expected[it.short_name()] == "holds";
        for weak in LEVELS.into_iter().filter(|it| holds(*it)) {
            for strong in LEVELS.into_iter().filter(|it| it.implies(weak)) {
                assert!(
                    holds(strong),
                    "{}: {} holds and {} does not",
                    sample.name,
                    weak.short_name(),
                    strong.short_name()
                );
            }
        }
    }
}

#[test]
fn every_program_is_printed_as_a_text_that_reads_back() {
    for sample in samples() {
        let printed = pretty(&sample.text, &sample.name).unwrap();
        let again = parse(&printed, &sample.name).unwrap_or_else(|it| panic!("{printed}\n{it:?}"));
        assert_eq!(pretty(&printed, &sample.name).unwrap(), printed, "{}", sample.name);
        assert_eq!(again.units(), sample.program.units(), "{}", sample.name);
        assert_eq!(again.instances().len(), sample.program.instances().len(), "{}", sample.name);
        assert_eq!(again.symbols().len(), sample.program.symbols().len(), "{}", sample.name);
    }
}

/// Table 2 of the paper, which gives no program texts: these are written from its section 4.
#[test]
fn verdicts_of_the_paper_come_out() {
    let paper = [
        ("auction-v1", "ser"),
        ("auction-v2", "ser si psi pc cc"),
        ("courseware-b1", "ser"),
        ("courseware-b2", "ser si psi"),
        ("courseware-b3", "ser si psi pc cc"),
        ("fusion-ticket-b1", "ser si psi"),
        ("fusion-ticket-b2", "ser si psi"),
        ("simple-bank", "ser"),
    ];
    let samples = samples();
    for (name, holding) in paper {
        let sample = samples.iter().find(|it| it.name == name).unwrap();
        for level in ["ser", "si", "psi", "pc", "cc"] {
            let verdict = if holding.split(' ').any(|it| it == level) { "holds" } else { "violated" };
            assert_eq!(expected(sample)[level], verdict, "{name} {level}");
        }
    }
}

#[test]
fn every_program_has_a_page_with_its_text_and_its_verdicts() {
    let index = fs::read_to_string(root().join("docs/programs/README.md")).unwrap();
    for sample in samples() {
        let name = &sample.name;
        let page = fs::read_to_string(root().join(format!("docs/programs/{name}.md"))).unwrap();
        let body = sample.text.split_once("\n\n").unwrap().1;
        assert!(page.contains(&format!("```txn\n{body}```\n")), "the page of {name} has another text");
        let verdicts = verdict_row(&sample);
        assert!(page.contains(&format!("\n{verdicts}\n")), "the page of {name} needs\n{verdicts}");
        let line = format!("| [{name}]({name}.md) {verdicts}\n");
        assert!(index.contains(&line), "the index needs\n{line}");
        let verdicts = row(&sample, database_levels().iter().map(|it| it.name));
        assert!(page.contains(&format!("\n{verdicts}\n")), "the page of {name} needs\n{verdicts}");
        let line = format!("| [{name}]({name}.md) {verdicts}\n");
        assert!(index.contains(&line), "the index needs\n{line}");
    }
}

/// `| rc | ra | .. |` with a word for each.
fn verdict_row(sample: &Sample) -> String {
    row(sample, LEVELS.iter().map(|it| it.short_name()))
}

fn row<'l>(sample: &Sample, levels: impl Iterator<Item = &'l str>) -> String {
    let expected = expected(sample);
    let words: Vec<&str> = levels.map(|it| if expected[it] == "holds" { "holds" } else { "**no**" }).collect();
    format!("| {} |", words.join(" | "))
}

/// The levels of databases that headers speak of.
fn database_levels() -> Vec<DatabaseLevel> {
    [Database::Postgres, Database::Mysql].into_iter().flat_map(Database::levels).copied().collect()
}

/// Every interleaving of statements, executed as a server does it; of open values, those of small ranges.
#[test]
fn every_interleaving_of_statements_says_the_same() {
    let mut n_compared = 0;
    for sample in samples() {
        if n_valuations(&sample.program) > 20 || sample.program.instances().len() > 4 {
            continue;
        }
        let expected = expected(&sample);
        for level in database_levels() {
            let (Some(snapshots), looks) = (level.level.snapshots(), Isolation::from(level).looks()) else { continue };
            let Some(is_violated) = statements::is_violated(&sample.program, snapshots, looks) else { continue };
            n_compared += 1;
            assert_eq!(is_violated, expected[level.name] == "violated", "{} {}", sample.name, level.name);
        }
    }
    assert!(n_compared > 30, "only {n_compared} programs are small enough");
}

fn samples() -> Vec<Sample> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("corpus/programs")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "txn"));
    paths.sort();
    assert!(!paths.is_empty(), "the corpus has no programs");
    paths.into_iter().map(sample).collect()
}

fn sample(path: PathBuf) -> Sample {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap();
    let program = parse(&text, &name).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{name}:\n{}", errors.join("\n"))
    });
    Sample { name, text, program }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What the header says, by the short name of the level.
fn expected(sample: &Sample) -> BTreeMap<&str, &str> {
    let lines = sample.text.lines().filter_map(|it| it.strip_prefix("// expect: "));
    let pairs = lines.flat_map(|it| it.split(' '));
    let expected: BTreeMap<&str, &str> = pairs.map(|it| it.split_once('=').unwrap()).collect();
    assert!(sample.text.lines().any(|it| it.starts_with("// source: ")), "{} has no `// source:`", sample.name);
    let n_levels = LEVELS.len() + database_levels().len();
    assert_eq!(expected.len(), n_levels, "{}: one verdict for each level", sample.name);
    expected
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Holds(_) => "holds",
        Answer::Violated(_) => "violated",
        Answer::Undecided(_) => "unknown",
        Answer::Refused(wrong) => panic!("{wrong}"),
    }
}
