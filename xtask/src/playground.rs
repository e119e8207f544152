//! The playground in a real browser: it answers while somebody types, on a desk and on a phone.

use crate::browser::{Browser, View};
use anyhow::{Context, Result, ensure};
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
    let mut visitor = Visitor { browser: &mut browser, folder };
    visitor.browser.look(DESK)?;
    visitor.browser.visit_url(&served.address)?;
    visitor.answered("write-skew")?;
    visitor.picture("desk")?;
    visitor.history()?;
    visitor.mistake()?;
    visitor.tab("program", "violated")?;
    visitor.picture("program")?;
    visitor.tab("levels", "stronger")?;
    visitor.link(&served.address)?;
    visitor.views()?;
    let problems = visitor.browser.problems();
    ensure!(problems.is_empty(), "{problems:?}");
    Ok(())
}

/// Takes the picture of the documentation again.
pub(crate) fn image(tool: &Path, folder: &Path) -> Result<()> {
    let served = Served::start(tool)?;
    let mut browser = Browser::start(&folder.join("playground-profile"))?;
    browser.trust(&served.address);
    browser.look(DESK)?;
    browser.visit_url(&served.address)?;
    Visitor { browser: &mut browser, folder }.answered("write-skew")?;
    browser.snapshot(&root().join("docs/images/playground.png"))
}

struct Visitor<'a> {
    browser: &'a mut Browser,
    folder: &'a Path,
}

impl Visitor<'_> {
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
        self.browser.snapshot(&self.folder.join(format!("playground-{name}.png")))
    }
}
