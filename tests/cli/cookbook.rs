//! Every command in the README, the cookbook, the reference and the pages of verbs is run, and says what the page says
//! it does.
//!
//! `ISOSCOPE_BLESS=1 cargo test -p isoscope --test cli cookbook` writes the answers again. A page is read from top to bottom:
//! - In a block `console`, a line `$ isoscope ...` is run, in a folder that has the corpus; what follows is what it
//!   says. What a run took is left out, since it differs from run to run. A picture that it draws is the one of the
//!   same name in `docs/images`.
//! - `console exit-1` says how its commands end, if not with 0. `console release` takes seconds, and is run with
//!   `ISOSCOPE_CASES=all`.
//! - A block with `file=mine.spec` behind its language is written to that file for the commands after it.

use crate::tool::{Folder, Said};
use std::path::{Path, PathBuf};
use std::{env, fs};

#[test]
fn every_page_says_what_the_tool_says() {
    let bless = env::var_os("ISOSCOPE_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut n_run = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let folder = Folder::new();
        let run = Page::run(&folder, &page);
        n_run += run.n_run;
        let name = path.strip_prefix(root()).unwrap().display();
        wrong.extend(run.wrong_codes.iter().map(|it| format!("{name}:{it}")));
        if run.text != page && bless {
            fs::write(&path, &run.text).unwrap();
        } else if let Some((idx, (is, was))) = first_difference(&run.text, &page) {
            wrong.push(format!("{name}:{}: the page has\n  {was}\nand the tool says\n  {is}", idx + 1));
        }
        for picture in different_pictures(&folder) {
            if bless {
                fs::copy(folder.path(&picture), images().join(&picture)).unwrap();
            } else {
                wrong.push(format!("{name}: docs/images/{picture} is not what the tool draws"));
            }
        }
    }
    assert!(n_run > 30, "{n_run} commands");
    let cure = "if that is right, ISOSCOPE_BLESS=1 writes it to the page";
    assert!(wrong.is_empty(), "{}\n{cure}", wrong.join("\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap()
}

fn pages() -> Vec<PathBuf> {
    let folders = ["docs/levels/cookbook", "docs/reference", "docs/tutorials", "docs/explanation"]
        .map(|it| fs::read_dir(root().join(it)).unwrap());
    let mut pages: Vec<PathBuf> = folders.into_iter().flatten().map(|it| it.unwrap().path()).collect();
    pages.retain(|it| it.extension().is_some_and(|it| it == "md"));
    let others = [
        "allocate",
        "applications",
        "certify",
        "ci",
        "collect",
        "compare",
        "generate",
        "hunt",
        "predict",
        "replay",
        "scale-out",
        "verify",
    ];
    pages.extend(others.map(|it| root().join(format!("docs/{it}.md"))));
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn images() -> PathBuf {
    root().join("docs/images")
}

/// The pictures of the documentation that commands have drawn again, and not the same.
fn different_pictures(folder: &Folder) -> Vec<String> {
    let all = fs::read_dir(images()).unwrap().map(|it| it.unwrap());
    let names = all.map(|it| it.file_name().into_string().unwrap());
    let is_drawn = |it: &String| folder.path(it).exists();
    names.filter(is_drawn).filter(|it| folder.read(it) != fs::read_to_string(images().join(it)).unwrap()).collect()
}

/// A page as it would be if it were written now.
#[derive(Default)]
struct Page {
    text: String,
    wrong_codes: Vec<String>,
    n_run: usize,
}

impl Page {
    fn run(folder: &Folder, page: &str) -> Self {
        std::os::unix::fs::symlink(root().join("corpus"), folder.path("corpus")).unwrap();
        let mut written = Self::default();
        let mut lines = page.lines().enumerate();
        while let Some((idx, line)) = lines.next() {
            written.line(line);
            let Some(fence) = line.strip_prefix("```").filter(|it| !it.is_empty()) else { continue };
            let block: Vec<&str> = lines.by_ref().map(|(_, it)| it).take_while(|it| *it != "```").collect();
            let (kind, words) = fence.split_once(' ').unwrap_or((fence, ""));
            let setting = |name: &str| words.split(' ').find_map(|it| it.strip_prefix(name));
            match kind {
                "console" if is_run(words, &block) => {
                    let code = setting("exit-").map_or(0, |it| it.parse().unwrap());
                    written.console(folder, idx + 1, code, &block);
                }
                _ => {
                    if let Some(file) = setting("file=") {
                        folder.write(file, block.join("\n") + "\n");
                    }
                    written.lines(&block);
                }
            }
            written.line("```");
        }
        written
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn lines(&mut self, lines: &[&str]) {
        for line in lines {
            self.line(line);
        }
    }

    fn console(&mut self, folder: &Folder, line: usize, code: i32, block: &[&str]) {
        for (idx, typed) in commands(block).iter().enumerate() {
            if idx > 0 {
                self.line("");
            }
            self.line(typed);
            let said = folder.shell(&typed["$ ".len()..]);
            if said.code != code {
                self.wrong_codes.push(format!("{line}: it ended with {} and not {code}:\n  {typed}", said.code));
            }
            self.lines(&without_effort(&said));
            self.n_run += 1;
        }
    }
}

/// What was typed in a block, each with the lines that continue it.
fn commands(block: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in block {
        if line.starts_with("$ ") {
            found.push((*line).to_owned());
        } else if goes_on {
            let command = found.last_mut().unwrap();
            command.push('\n');
            command.push_str(line);
        }
        goes_on = (goes_on || line.starts_with("$ ")) && line.ends_with('\\');
    }
    found
}

/// Whether a block's commands are ours, and quick enough.
fn is_run(words: &str, block: &[&str]) -> bool {
    let all = env::var("ISOSCOPE_CASES").is_ok_and(|it| it == "all");
    let ours = block.iter().filter(|it| it.starts_with("$ ")).all(|it| it.starts_with("$ isoscope "));
    ours && (all || !words.split(' ').any(|it| it == "release"))
}

/// The lines of an answer without those that say what it took.
fn without_effort(said: &Said) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_effort = false;
    for line in said.out.lines().chain(said.err.lines()) {
        // Such a line may be continued, and what comes after it begins with a capital.
        in_effort = line.contains(" MiB") || in_effort && line.starts_with(|it: char| !it.is_uppercase());
        if !in_effort {
            kept.push(line);
        }
    }
    while kept.last().is_some_and(|it| it.is_empty()) {
        kept.pop();
    }
    kept
}

/// The first line in which two texts differ.
fn first_difference<'a>(left: &'a str, right: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let end = std::iter::repeat("(the end)");
    let (n_left, n_right) = (left.lines().count(), right.lines().count());
    let pairs = left.lines().chain(end.clone()).zip(right.lines().chain(end)).take(n_left.max(n_right));
    pairs.enumerate().find(|(_, (left, right))| left != right)
}
