//! The playground in a real browser: it answers while somebody types, on a desk and on a phone.

use crate::browser::{Browser, View};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use xtask::root;

const DESK: View = View { width: 1280, height: 800, is_dark: false };
const NIGHT: View = View { width: 1280, height: 800, is_dark: true };
const PHONE: View = View { width: 390, height: 844, is_dark: false };

/// An answer takes no longer, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The served page, which ends with this value.
struct Served {
    process: Child,
    address: String,
}

impl Served {
    fn start(tool: &Path) -> Result<Self> {
        let mut process = Command::new(tool).arg("playground").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("it says nothing")?).read_line(&mut line)?;
        let address = line.split_whitespace().find(|it| it.starts_with("http://")).map(str::to_owned);
        Ok(Self { process, address: address.context(line)? })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Types into the page, and looks at what it says; pictures go to the folder.
pub(crate) fn playground(tool: &Path, folder: &Path) -> Result<()> {
    let served = Served::start(tool)?;
    let mut browser = Browser::start(&folder.join("playground-profile"))?;
    browser.trust(&served.address);
    Visitor { browser: &mut browser, folder, name: "playground" }.look_around(&served.address)
}

/// The same of the page that needs no server; it also answers all of the corpus as the binary does.
pub(crate) fn offline(tool: &Path, page: &Path, folder: &Path) -> Result<()> {
    let mut browser = Browser::start(&folder.join("offline-profile"))?;
    let address = format!("file://{}", page.display());
    Visitor { browser: &mut browser, folder, name: "offline" }.look_around(&address)?;
    let since = Instant::now();
    let here = answers(&mut browser)?;
    println!("the page answered {} texts in {} s", here.len(), since.elapsed().as_secs());
    let served = Served::start(tool)?;
    browser.trust(&served.address);
    browser.visit_url(&served.address)?;
    let there = answers(&mut browser)?;
    let mut n_unknown = 0;
    for ((name, here), (_, there)) in here.iter().zip(&there) {
        let is_open = |it: &str| it.contains("unknown");
        n_unknown += usize::from(is_open(here) || is_open(there));
        ensure!(here == there || is_open(here) || is_open(there), "{name}\nin the page: {here}\nthe binary: {there}");
    }
    println!("{} texts are answered alike, {n_unknown} of them not in time", here.len());
    ensure!(n_unknown <= here.len() / 20, "too many texts are not answered in time");
    Ok(())
}

/// What the open page says about each text of the corpus: exit code, relation and verdicts.
fn answers(browser: &mut Browser) -> Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for folder in fs::read_dir(root().join("corpus"))?.flatten().filter(|it| it.path().is_dir()) {
        texts.extend(fs::read_dir(folder.path())?.flatten().map(|it| it.path()));
    }
    texts.sort();
    let mut said = Vec::new();
    for path in texts {
        let kind = match path.extension().and_then(|it| it.to_str()) {
            Some("history") => "history",
            Some("txn") => "program",
            _ => continue,
        };
        let question = json!({ "kind": kind, "text": fs::read_to_string(&path)?, "choice": "" });
        let answer = browser.text(&format!("({ASKED})({question})")).with_context(|| path.display().to_string())?;
        said.push((path.display().to_string(), answer));
    }
    Ok(said)
}

/// Asks the engines of the page, or the server that sent it.
const ASKED: &str = "async question => {
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(question) };
    const answer = window.isoscope ? await isoscope.ask(question) : await (await fetch('ask', request)).json();
    if (answer.error) return answer.places.length ? JSON.stringify(answer.places) : answer.error;
    const page = new DOMParser().parseFromString(answer.page, 'text/html');
    const report = JSON.parse(page.getElementById('report').textContent);
    const levels = (report.levels || []).map(it => `${it.level} ${it.verdict}`);
    return JSON.stringify([answer.exit, report.relation || '', levels]);
}";

/// Takes the picture of the documentation again.
pub(crate) fn image(tool: &Path, folder: &Path) -> Result<()> {
    let served = Served::start(tool)?;
    let mut browser = Browser::start(&folder.join("playground-profile"))?;
    browser.trust(&served.address);
    browser.look(DESK)?;
    browser.visit_url(&served.address)?;
    Visitor { browser: &mut browser, folder, name: "playground" }.answered("write-skew")?;
    browser.snapshot(&root().join("docs/images/playground.png"))
}

struct Visitor<'a> {
    browser: &'a mut Browser,
    folder: &'a Path,
    /// How its pictures begin.
    name: &'static str,
}

impl Visitor<'_> {
    fn look_around(&mut self, address: &str) -> Result<()> {
        self.browser.look(DESK)?;
        self.browser.visit_url(address)?;
        self.answered("write-skew")?;
        self.picture("desk")?;
        self.history()?;
        self.mistake()?;
        self.tab("program", "violated")?;
        self.picture("program")?;
        self.tab("levels", "stronger")?;
        self.link(address)?;
        self.views()?;
        let problems = self.browser.problems();
        ensure!(problems.is_empty(), "{problems:?}");
        Ok(())
    }

    /// Waits for an answer whose words or page have these.
    fn answered(&mut self, words: &str) -> Result<()> {
        let since = Instant::now();
        loop {
            let said = self.browser.text(
                "document.getElementById('headline').className + ' ' + document.getElementById('headline').textContent + \
                 ' ' + document.getElementById('mistakes').innerText + ' ' + (document.getElementById('page').srcdoc || '')",
            )?;
            if said.contains(words) && !said.starts_with("busy") && !said.contains(" busy ") {
                return Ok(());
            }
            ensure!(since.elapsed() < PATIENCE, "waiting for {words}: {}", said.chars().take(300).collect::<String>());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn type_text(&mut self, text: &str) -> Result<()> {
        let text = serde_json::Value::from(text);
        self.browser.ask(&format!(
            "(() => {{ const it = document.getElementById('text'); it.value = {text}; \
             it.dispatchEvent(new Event('input')); }})()"
        ))?;
        Ok(())
    }

    /// What is typed is answered, and the answer is the page with its picture.
    fn history(&mut self) -> Result<()> {
        self.type_text("init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }\n")?;
        self.answered("Lost update")?;
        let picture = self.browser.text("String(document.getElementById('page').srcdoc.includes('<svg'))")?;
        ensure!(picture == "true", "there is no picture");
        self.type_text("init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,1) w(x,2) }\n")?;
        self.answered("good")
    }

    /// A mistake has its line.
    fn mistake(&mut self) -> Result<()> {
        self.type_text("init x=0\ns1: { r(x,0) w(x }\n")?;
        self.answered("line 2")?;
        let marked = self.browser.text("document.querySelector('#lines b').textContent.trim()")?;
        ensure!(marked == "2", "line {marked} is marked");
        let hidden = self.browser.text("String(document.getElementById('page').hidden)")?;
        ensure!(hidden == "true", "an old answer stands beside a text that cannot be read");
        Ok(())
    }

    fn tab(&mut self, kind: &str, words: &str) -> Result<()> {
        self.browser.ask(&format!("document.querySelector('[data-kind={kind}]').click()"))?;
        self.answered(words)
    }

    /// A link carries the text.
    fn link(&mut self, address: &str) -> Result<()> {
        let text = "init x=0\ns1: { w(x,1) }\ns2: { r(x,7) }\n";
        let link = self.browser.text(&format!(
            "String(new URLSearchParams({{ kind: 'history', text: {} }}))",
            serde_json::Value::from(text)
        ))?;
        self.browser.visit_url("about:blank")?;
        self.browser.visit_url(&format!("{address}#{link}"))?;
        self.answered("thin-air-read")?;
        let typed = self.browser.text("document.getElementById('text').value")?;
        ensure!(typed == text, "the link brought {typed}");
        Ok(())
    }

    fn views(&mut self) -> Result<()> {
        for (view, name) in [(NIGHT, "night"), (PHONE, "phone")] {
            self.browser.look(view)?;
            let too_wide = self.browser.text("String(document.documentElement.scrollWidth > window.innerWidth)")?;
            ensure!(too_wide == "false", "the page is too wide ({name})");
            self.picture(name)?;
        }
        Ok(())
    }

    fn picture(&mut self, name: &str) -> Result<()> {
        // The frame loads its page after the answer, and paints it a moment later.
        let since = Instant::now();
        let is_shown = "String(document.body.dataset.shown === document.body.dataset.answered)";
        while self.browser.text(is_shown)? != "true" {
            ensure!(since.elapsed() < PATIENCE, "the page of the answer is not shown");
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(1500));
        self.browser.snapshot(&self.folder.join(format!("{}-{name}.png", self.name)))
    }
}
