//! Pages in a real browser: what they show, what clicks and keys do, and that nothing goes wrong behind the scenes.
//!
//! Pages are the golden ones of `iso-report`, and a page for each anomaly of the corpus. Pictures of all of them stay in
//! `target/pages`, for people to look at.

use crate::browser::{Browser, View};
use crate::root;
use crate::system::{ensure_debian_package, run};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const DESK: View = View { width: 1100, height: 900, is_dark: false };
const NIGHT: View = View { width: 1100, height: 900, is_dark: true };
const PHONE: View = View { width: 390, height: 844, is_dark: false };

/// What a golden page says first, and in its first and last steps if it has some.
struct Expected {
    page: &'static str,
    headline: &'static str,
    first: &'static str,
    last: &'static str,
}

const GOLDEN: &[Expected] = &[
    Expected {
        page: "write-skew",
        headline: "Write skew: this history breaks serializable (ser)",
        first: "s1.1 must come before s2.1, because s1.1 (line 2) read y=0 from the initial state",
        last: "s1.1 would have to come before itself: s1.1 → s2.1 → s1.1",
    },
    Expected {
        page: "lost-update",
        headline: "Lost update: this history breaks snapshot-isolation (si).",
        first: "which s2.1 (line 3) overwrote with x=3",
        last: "s1.1 would have to come before itself",
    },
    Expected { page: "lists", headline: "this history breaks", first: "read", last: "That cannot be." },
    Expected { page: "aborted-read", headline: "this history breaks", first: "s2.1", last: "" },
    Expected { page: "stale-read", headline: "this history breaks", first: "", last: "That cannot be." },
    Expected { page: "ring-40", headline: "this history breaks", first: "1 of 41", last: "41 of 41" },
    Expected { page: "hostile", headline: "this history breaks", first: "must come before", last: "That cannot be." },
    Expected {
        page: "deep-order",
        headline: "this history breaks",
        first: "s5.1 (line 6) read x=2 from s2.1",
        last: "That cannot be.",
    },
    Expected {
        page: "blind-writes",
        headline: "this history breaks",
        first: "Suppose that y=1 of s2.1 (line 3) is older",
        last: "No case is left",
    },
    Expected { page: "either-writer", headline: "this history breaks", first: "", last: "That cannot be." },
    Expected {
        page: "allowed",
        headline: "This history satisfies serializable (ser).",
        first: "alice.1: r(x,0) from the initial state, w(x,1)",
        last: "4 of 4",
    },
    Expected { page: "separate-cc-pc", headline: "biswas.cc", first: "must come before", last: "That cannot be." },
    Expected { page: "separate-si-ser", headline: "cerone.si", first: "", last: "" },
    Expected { page: "separate-partial", headline: "", first: "", last: "" },
    Expected { page: "compare", headline: "", first: "", last: "" },
    Expected { page: "lattice", headline: "Lattice", first: "", last: "" },
    Expected { page: "verify-bank", headline: "", first: "", last: "" },
    Expected { page: "predict-lost-update", headline: "", first: "must come before", last: "That cannot be." },
    Expected { page: "predict-write-skew", headline: "", first: "must come before", last: "That cannot be." },
    Expected { page: "predict-none", headline: "", first: "", last: "" },
];

/// Opens every page; says so and does nothing where Chromium can be neither found nor installed.
pub(crate) fn pages() -> Result<()> {
    if let Err(why) = ensure_debian_package("chromium", "chromium") {
        println!("skipped: pages are not opened in a browser, because {why:#}");
        return Ok(());
    }
    let since = Instant::now();
    let target = target();
    let folder = target.join("pages");
    fs::create_dir_all(&folder)?;
    let anomalies = anomaly_pages(&target, &folder)?;
    let mut browser = Browser::start(&folder.join("profile"))?;
    let mut tour = Tour { browser: &mut browser, folder: &folder, tools: target.join("debug") };
    for expected in GOLDEN {
        let page = root().join(format!("crates/edges/report/tests/golden/{}.html", expected.page));
        tour.golden(expected, &page).with_context(|| page.display().to_string())?;
    }
    for page in &anomalies {
        tour.anomaly(page).with_context(|| page.display().to_string())?;
    }
    drop(browser);
    let n_pages = GOLDEN.len() + anomalies.len();
    println!("{n_pages} pages opened in {:.1} s; pictures in {}", since.elapsed().as_secs_f64(), folder.display());
    Ok(())
}

/// Takes the pictures of the README again.
pub(crate) fn images() -> Result<()> {
    ensure_debian_package("chromium", "chromium")?;
    let target = target();
    let (folder, kept) = (target.join("pages"), root().join("docs/images"));
    fs::create_dir_all(&folder)?;
    anomaly_pages(&target, &folder)?;
    let mut browser = Browser::start(&folder.join("profile"))?;
    browser.look(View { width: 1000, height: 860, is_dark: false })?;
    browser.visit(&folder.join("anomaly-write-skew.html"))?;
    browser.press("ArrowRight")?;
    browser.snapshot(&kept.join("page-check.png"))?;
    browser.look(View { width: 1000, height: 1010, is_dark: true })?;
    browser.visit(&root().join("crates/edges/report/tests/golden/separate-cc-pc.html"))?;
    browser.press("ArrowRight")?;
    browser.press("ArrowRight")?;
    browser.snapshot(&kept.join("page-separate.png"))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A page for each anomaly of the corpus, made by the tool.
fn anomaly_pages(target: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    run(Command::new(env!("CARGO")).args(["build", "--quiet", "--package", "iso-cli"]).current_dir(root()))?;
    let mut histories: Vec<PathBuf> =
        fs::read_dir(root().join("corpus/anomalies"))?.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    histories.retain(|it| it.extension().is_some_and(|it| it == "history"));
    histories.sort();
    let mut pages = Vec::new();
    for history in histories {
        let name = history.file_stem().context("a history without a name")?.to_string_lossy().into_owned();
        let page = folder.join(format!("anomaly-{name}.html"));
        let mut isoscope = Command::new(target.join("debug/isoscope"));
        isoscope.current_dir(root()).arg("check").arg(history.strip_prefix(root())?).arg("--report").arg(&page);
        let output = isoscope.output().context("cannot start isoscope")?;
        ensure!(output.status.code() == Some(1), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        pages.push(page);
    }
    Ok(pages)
}

/// A visitor of pages.
struct Tour<'a> {
    browser: &'a mut Browser,
    folder: &'a Path,
    /// Where the tool is.
    tools: PathBuf,
}

impl Tour<'_> {
    fn golden(&mut self, expected: &Expected, page: &Path) -> Result<()> {
        self.visit(page)?;
        let headline = self.browser.text("document.querySelector('h1').parentNode.innerText")?;
        ensure!(headline.contains(expected.headline), "the headline is {headline}");
        if !expected.first.is_empty() || !expected.last.is_empty() {
            self.steps(expected.first, expected.last)?;
            self.edges()?;
            self.reasons()?;
        }
        self.copies()?;
        if expected.page == "lattice" {
            self.lines_of_a_lattice()?;
        }
        self.gallery(expected.page, &[(DESK, "desk"), (NIGHT, "night"), (PHONE, "phone")])?;
        self.paper(expected.page)
    }

    fn anomaly(&mut self, page: &Path) -> Result<()> {
        self.visit(page)?;
        let headline = self.browser.text("document.querySelector('h1').innerText")?;
        ensure!(headline.contains("this history breaks"), "the headline is {headline}");
        self.steps("", "")?;
        let name = page.file_stem().context("a page without a name")?.to_string_lossy().into_owned();
        self.browser.look(PHONE)?;
        self.fits(PHONE.width)?;
        self.gallery(&name, &[(NIGHT, "night")])
    }

    fn visit(&mut self, page: &Path) -> Result<()> {
        self.browser.look(DESK)?;
        self.browser.visit(page)?;
        self.browser.point_nowhere()?;
        let strangers = self.browser.text(
            "document.querySelectorAll('main script, iframe, img, object, embed, [onclick], [onload], [onerror]').length",
        )?;
        ensure!(strangers == "0", "{strangers} elements came from names");
        self.well()
    }

    /// Goes through all steps by key, and back to the start.
    fn steps(&mut self, first: &str, last: &str) -> Result<()> {
        let n_steps = self.browser.ask("document.querySelector('.stepper + .steps').children.length")?;
        let n_steps = n_steps.as_u64().context("no steps")?;
        self.browser.press("ArrowRight")?;
        let shown = self.shown()?;
        ensure!(shown.contains(first) && shown.starts_with(&format!("1 of {n_steps}")), "the first step says {shown}");
        ensure!(self.n("svg.dim .on")? > 0, "the first step lights nothing up");
        for _ in 1..n_steps {
            self.browser.press("ArrowRight")?;
        }
        let shown = self.shown()?;
        let is_last = shown.starts_with(&format!("{n_steps} of {n_steps}"));
        ensure!(is_last && shown.contains(last), "the last step says {shown}");
        self.browser.press("Escape")?;
        ensure!(self.n("svg.dim")? == 0 && self.n(".on")? == 0, "something stays lit");
        let next = center("document.querySelector('.stepper .next')");
        self.browser.click(&next)?;
        ensure!(self.shown()?.starts_with("1 of"), "the button does nothing");
        self.browser.press("ArrowLeft")?;
        ensure!(self.shown()?.starts_with("Step through"), "there is no way back");
        self.browser.point_nowhere()?;
        self.well()
    }

    /// Clicks the first arrow, and reads why it is there.
    fn edges(&mut self) -> Result<()> {
        let arrow = "document.querySelector('.edge[role=button]')";
        if self.n(".edge[role=button]")? == 0 {
            return Ok(());
        }
        let place = format!(
            "(() => {{ const line = {arrow}.querySelector('path'); line.scrollIntoView({{ block: 'center' }}); \
             const at = line.getPointAtLength(line.getTotalLength() / 5).matrixTransform(line.getScreenCTM()); \
             return [at.x, at.y]; }})()"
        );
        self.browser.click(&place)?;
        let shown = self.shown()?;
        let why = self.browser.text(&format!("{arrow}.getAttribute('aria-label')"))?;
        ensure!(shown.ends_with(&why), "a click on the arrow shows {shown}, not {why}");
        ensure!(self.n("svg.dim .edge.on")? == 1, "the arrow is not lit");
        ensure!(self.n(".steps li[aria-current=step]")? == 1, "the step is not marked");
        self.browser.press("Escape")?;
        self.browser.ask(&format!("{arrow}.focus()"))?;
        self.browser.press("Enter")?;
        ensure!(self.shown()?.ends_with(&why), "Enter on the arrow does nothing");
        self.browser.press("Escape")?;
        self.browser.point_nowhere()?;
        self.well()
    }

    /// Opens what a step follows from by key, and reads down to the ground.
    fn reasons(&mut self) -> Result<()> {
        if self.n(".why")? == 0 {
            return Ok(());
        }
        self.browser.ask("document.querySelector('.why summary').focus()")?;
        self.browser.press("Enter")?;
        ensure!(self.n(".why[open]")? == 1, "Enter does not open a derivation");
        self.browser.click(&center("document.querySelector('.why[open] li')"))?;
        ensure!(self.n("svg.dim .op.on")? > 0, "a click on a premise lights no operation");
        ensure!(self.n(".why li.on")? == 1, "the premise is not marked");
        self.browser.point_nowhere()?;
        self.browser.press("Escape")?;
        ensure!(self.n("svg.dim")? == 0 && self.n(".on")? == 0, "a premise stays lit");
        // All of them, for the pictures.
        self.browser.ask("document.querySelectorAll('.why').forEach(it => { it.open = true; })")?;
        self.well()
    }

    /// Copies a history and the command that checks it.
    fn copies(&mut self) -> Result<()> {
        if self.n(".copies")? == 0 {
            return Ok(());
        }
        self.browser.grant_clipboard()?;
        for (what, start) in [("command", "isoscope check -"), ("history", "")] {
            let button = format!("document.querySelector('.copies [data-copy={what}]')");
            self.browser.click(&center(&button))?;
            let text = self
                .browser
                .text("new Promise(done => setTimeout(done, 50)).then(() => navigator.clipboard.readText())")?;
            ensure!(text.starts_with(start) && text.contains('{'), "{what} copies {text}");
            if what == "command" {
                self.run(&text)?;
            }
            let title = self.browser.text(&format!("{button}.textContent"))?;
            ensure!(title == "Copied", "the button says {title}");
        }
        self.browser.point_nowhere()
    }

    /// What was copied is a command that answers.
    fn run(&self, command: &str) -> Result<()> {
        let path = format!("{}:{}", self.tools.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh").args(["-c", command]).env("PATH", path).output()?;
        let is_answer = matches!(output.status.code(), Some(0 | 1));
        ensure!(is_answer, "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn lines_of_a_lattice(&mut self) -> Result<()> {
        self.browser
            .ask("document.querySelector('.diagram a').dispatchEvent(new MouseEvent('click', { bubbles: true }))")?;
        let target = self.browser.text("document.querySelector('section:target h2').textContent")?;
        ensure!(target.starts_with("#1 "), "the line leads to {target}");
        Ok(())
    }

    /// Pictures, with a step lit up where there is one.
    fn gallery(&mut self, name: &str, views: &[(View, &str)]) -> Result<()> {
        for (view, what) in views {
            self.browser.look(*view)?;
            if *what != "desk" && self.n(".stepper")? > 0 {
                self.browser.press("ArrowRight")?;
            }
            self.fits(view.width)?;
            self.browser.screenshot(&self.folder.join(format!("{name}-{what}.png")))?;
        }
        self.well()
    }

    /// Nothing sticks out at the side.
    fn fits(&mut self, width: u32) -> Result<()> {
        let overflow =
            self.browser.text("document.documentElement.scrollWidth - document.documentElement.clientWidth")?;
        ensure!(overflow == "0", "at {width} pixels, the page is {overflow} too wide");
        Ok(())
    }

    /// On paper, there is nothing to click.
    fn paper(&mut self, name: &str) -> Result<()> {
        self.browser.look(DESK)?;
        self.browser.print()?;
        let shown = "[...document.querySelectorAll('button')].filter(it => it.checkVisibility()).length";
        ensure!(self.browser.text(shown)? == "0", "there are buttons on paper");
        self.browser.ask("document.querySelectorAll('.why').forEach(it => { it.open = false; })")?;
        let hidden = "[...document.querySelectorAll('.why li')].filter(it => it.offsetHeight === 0).length";
        ensure!(self.browser.text(hidden)? == "0", "derivations are folded on paper");
        self.browser.screenshot(&self.folder.join(format!("{name}-print.png")))?;
        self.well()
    }

    fn shown(&mut self) -> Result<String> {
        self.browser.text("document.querySelector('.stepper output').textContent")
    }

    fn n(&mut self, selector: &str) -> Result<u64> {
        let n = self.browser.ask(&format!("document.querySelectorAll('{selector}').length"))?;
        n.as_u64().context("no number")
    }

    /// Did anything go wrong so far?
    fn well(&mut self) -> Result<()> {
        match self.browser.problems().as_slice() {
            [] => Ok(()),
            problems => bail!("{}", problems.join("\n")),
        }
    }
}

/// The middle of an element, once it is in view.
fn center(element: &str) -> String {
    format!(
        "(() => {{ const it = {element}; it.scrollIntoView({{ block: 'center' }}); const box = it.getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
    )
}
