//! Pages in a real browser: what they show, what clicks and keys do, and that nothing goes wrong behind the scenes.
//!
//! Pages are the golden ones of `iso-report`, a page for each anomaly of the corpus, and one of a large history. Pictures of all of them stay in
//! `target/pages`, for people to look at.

use crate::browser::{Browser, View};
use crate::playground::{self, playground};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::system::{ensure_debian_package, run};
use xtask::{root, target_folder};

const DESK: View = View { width: 1100, height: 900, is_dark: false };
const WIDE: View = View { width: 1500, height: 900, is_dark: false };
const NIGHT: View = View { width: 1100, height: 900, is_dark: true };
const PHONE: View = View { width: 390, height: 844, is_dark: false };

/// A page is no larger, in bytes.
const MAX_PAGE: u64 = 300_000;
/// A browser shows the page of a large history after so long at most, on a slow machine.
const MAX_LOAD: Duration = Duration::from_secs(20);
/// The neighbours of the evidence.
const ROWS: &str = ".around .lanes > li:not(.head):not(.gap)";

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
        first: "s1.1 must come before s2.1: s1.1 (line 2) read y=0 from the initial state",
        last: "s1.1 would have to come before itself: s1.1 → s2.1 → s1.1",
    },
    Expected {
        page: "lost-update",
        headline: "Lost update: this history breaks snapshot-isolation (si).",
        first: "which s2.1 (line 3) overwrote with x=3",
        last: "s1.1 would have to come before itself",
    },
    Expected { page: "lists", headline: "this history breaks", first: "read", last: "That is impossible." },
    Expected { page: "aborted-read", headline: "this history breaks", first: "s2.1", last: "" },
    Expected { page: "stale-read", headline: "this history breaks", first: "", last: "That is impossible." },
    Expected { page: "ring-40", headline: "this history breaks", first: "1 of 41", last: "41 of 41" },
    Expected {
        page: "hostile",
        headline: "this history breaks",
        first: "must come before",
        last: "That is impossible.",
    },
    Expected {
        page: "deep-order",
        headline: "this history breaks",
        first: "s5.1 (line 6) read x=2 from s2.1",
        last: "That is impossible.",
    },
    Expected {
        page: "blind-writes",
        headline: "this history breaks",
        first: "Case 1 of 2: suppose that y=1 of s2.1 (line 3) is older",
        last: "Every case is impossible",
    },
    Expected { page: "either-writer", headline: "this history breaks", first: "", last: "impossible" },
    Expected {
        page: "allowed",
        headline: "This history satisfies serializable (ser).",
        first: "alice.1: r(x,0) from the initial state, w(x,1)",
        last: "4 of 4",
    },
    Expected { page: "separate-cc-pc", headline: "biswas.cc", first: "must come before", last: "That is impossible." },
    Expected { page: "separate-si-ser", headline: "cerone.si", first: "", last: "" },
    Expected { page: "separate-partial", headline: "", first: "", last: "" },
    Expected { page: "compare", headline: "", first: "", last: "" },
    Expected { page: "lattice", headline: "Lattice", first: "", last: "" },
    Expected { page: "verify-bank", headline: "", first: "", last: "" },
    Expected { page: "predict-lost-update", headline: "", first: "must come before", last: "That is impossible." },
    Expected { page: "predict-write-skew", headline: "", first: "must come before", last: "That is impossible." },
    Expected { page: "predict-none", headline: "", first: "", last: "" },
    Expected { page: "collect", headline: "31,282 transactions committed on PostgreSQL", first: "", last: "" },
    Expected { page: "collect-broken", headline: "1 of 2 assertions failed", first: "", last: "" },
    Expected { page: "collect-hostile", headline: "transactions committed on", first: "", last: "" },
    Expected {
        page: "hunt",
        headline: "lost update, write skew",
        first: "must come before",
        last: "That is impossible.",
    },
    Expected { page: "hunt-none", headline: "Nothing found: all that PostgreSQL", first: "", last: "" },
    Expected { page: "hunt-hostile", headline: "breaks", first: "must come before", last: "That is impossible." },
    Expected { page: "demo", headline: "two databases", first: "must come before", last: "That is impossible." },
    Expected { page: "demo-hostile", headline: "", first: "must come before", last: "That is impossible." },
    Expected { page: "store", headline: "smallbank under causal-consistency (cc): 1 of 2", first: "", last: "" },
    Expected { page: "store-hostile", headline: "does not hold", first: "", last: "" },
];

/// Opens every page.
pub(crate) fn pages() -> Result<()> {
    ensure_debian_package("chromium", "chromium")?;
    let since = Instant::now();
    let target = target_folder();
    let folder = target.join("pages");
    fs::create_dir_all(&folder)?;
    let anomalies = anomaly_pages(&target, &folder)?;
    let mut browser = Browser::start(&folder.join("profile"))?;
    let mut tour = Tour { browser: &mut browser, folder: &folder, tools: target.join("debug") };
    for expected in GOLDEN {
        let page = golden_page(expected.page, &folder)?;
        tour.golden(expected, &page).with_context(|| page.display().to_string())?;
    }
    for page in &anomalies {
        tour.anomaly(page).with_context(|| page.display().to_string())?;
    }
    let large = large_page(&target, &folder)?;
    tour.large(&large).with_context(|| large.display().to_string())?;
    drop(browser);
    playground(&target.join("debug/isoscope"), &folder).context("the playground")?;
    let n_pages = GOLDEN.len() + anomalies.len() + 1;
    println!("{n_pages} pages opened in {:.1} s; pictures in {}", since.elapsed().as_secs_f64(), folder.display());
    Ok(())
}

/// Opens the playground of the tool as it was built last.
pub(crate) fn only_playground() -> Result<()> {
    ensure_debian_package("chromium", "chromium")?;
    let folder = target_folder().join("pages");
    fs::create_dir_all(&folder)?;
    playground(&target_folder().join("debug/isoscope"), &folder)
}

/// Takes the pictures of the README again.
pub(crate) fn images() -> Result<()> {
    ensure_debian_package("chromium", "chromium")?;
    let target = target_folder();
    let (folder, kept) = (target.join("pages"), root().join("docs/images"));
    fs::create_dir_all(&folder)?;
    anomaly_pages(&target, &folder)?;
    let mut browser = Browser::start(&folder.join("profile"))?;
    browser.look(View { width: 1000, height: 860, is_dark: false })?;
    browser.visit(&folder.join("anomaly-write-skew.html"))?;
    browser.press("ArrowRight")?;
    browser.snapshot(&kept.join("page-check.png"))?;
    browser.look(View { width: 1000, height: 1010, is_dark: true })?;
    browser.visit(&golden_page("separate-cc-pc", &folder)?)?;
    browser.press("ArrowRight")?;
    browser.press("ArrowRight")?;
    browser.snapshot(&kept.join("page-separate.png"))?;
    drop(browser);
    playground::image(&target.join("debug/isoscope"), &folder)
}

/// A golden page with the style and the script that its file leaves out: one of them has both.
fn golden_page(name: &str, folder: &Path) -> Result<PathBuf> {
    let golden = |name: &str| fs::read_to_string(root().join(format!("crates/edges/report/tests/golden/{name}.html")));
    let whole = golden("write-skew")?;
    let between = |start: &str, end: &str| {
        let inside = whole.rsplit_once(start).and_then(|it| it.1.split_once(end));
        inside.map(|it| it.0.to_owned()).with_context(|| format!("there is no {start} in a page"))
    };
    let (style, script) = (between("<style>\n", "</style>")?, between("<script>", "</script>")?);
    let hash = between("script-src 'sha256-", "'")?;
    let page = golden(name)?.replace("/* page.css */\n", &style).replace("/* page.js */", &script);
    let path = folder.join(format!("golden-{name}.html"));
    fs::write(&path, page.replace("sha256-of-page.js", &format!("sha256-{hash}")))?;
    Ok(path)
}

/// A page for each anomaly of the corpus, made by the tool.
fn anomaly_pages(target: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    run(Command::new(env!("CARGO")).args(["build", "--quiet", "--package", "isoscope"]).current_dir(root()))?;
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

/// The page of a history that is too large to be shown.
fn large_page(target: &Path, folder: &Path) -> Result<PathBuf> {
    let (history, page) = (folder.join("large.jsonl"), folder.join("large.html"));
    let tool = target.join("debug/isoscope");
    let words = ["generate", "balanced", "--txns", "10000", "--inject", "long-fork", "--force", "-o"];
    run(Command::new(&tool).args(words).arg(&history))?;
    let output = Command::new(&tool).arg("check").arg(&history).arg("--report").arg(&page).output()?;
    ensure!(output.status.code() == Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(history)?;
    Ok(page)
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
        self.listing()?;
        self.charts()?;
        if self.n(".side, .runs > .panel")? > 1 {
            self.sides()?;
        }
        match expected.page {
            "lattice" => self.lines_of_a_lattice()?,
            "allowed" => self.values_flow()?,
            "verify-bank" => self.lines_light_up()?,
            _ => {}
        }
        self.sideways()?;
        self.gallery(expected.page, &[(DESK, "desk"), (NIGHT, "night"), (PHONE, "phone")])?;
        self.paper(expected.page)
    }

    /// On a phone, a picture that is wider than its frame says so, until its end is seen.
    fn sideways(&mut self) -> Result<()> {
        self.browser.look(PHONE)?;
        let wrong = "new Promise(done => setTimeout(() => done(String([...document.querySelectorAll('figure')].filter(it => \
                     it.classList.contains('more') !== it.scrollWidth - it.clientWidth - it.scrollLeft > 4 || \
                     it.nextElementSibling.hidden === it.scrollWidth - it.clientWidth > 4).length)), 100))";
        ensure!(
            self.browser.text(wrong)? == "0",
            "a picture does not say that there is more of it, or says so in vain"
        );
        self.browser.look(DESK)
    }

    fn anomaly(&mut self, page: &Path) -> Result<()> {
        self.visit(page)?;
        let headline = self.browser.text("document.querySelector('h1').innerText")?;
        ensure!(headline.contains("this history breaks"), "the headline is {headline}");
        self.steps("", "")?;
        let name = page.file_stem().context("a page without a name")?.to_string_lossy().into_owned();
        self.gallery(&name, &[(NIGHT, "night"), (PHONE, "phone")])
    }

    /// A page stays small and quick however large the history is, and its neighbours can be looked through.
    fn large(&mut self, page: &Path) -> Result<()> {
        let n_bytes = fs::metadata(page)?.len();
        ensure!(n_bytes < MAX_PAGE, "the page has {n_bytes} bytes");
        let since = Instant::now();
        self.visit(page)?;
        ensure!(since.elapsed() < MAX_LOAD, "the page takes {:?}", since.elapsed());
        self.steps("must come before", "That is impossible.")?;
        ensure!(self.n("#history .course svg")? == 1, "there is no summary of the whole history");
        self.browser.click(&center("document.querySelector('.around > summary')"))?;
        let n_rows = self.n(ROWS)?;
        let n_lit = self.n(".around[open] .lanes > .lit")?;
        ensure!(n_lit >= 4 && n_rows > 2 * n_lit && n_rows < 500, "{n_rows} neighbours, {n_lit} of them lit");
        ensure!(self.n(".lanes > .gap")? > 1, "there are no gaps between neighbours");
        self.filter(n_rows)?;
        self.browser.click(&center("document.querySelector('.lanes .lit summary')"))?;
        let words = self.browser.text("document.querySelector('.lanes .lit details[open]').innerText")?;
        ensure!(words.contains("line "), "an open neighbour says {words}");
        self.browser.ask("document.querySelector('#history details').open = true")?;
        self.gallery("large", &[(DESK, "desk"), (NIGHT, "night"), (PHONE, "phone")])
    }

    /// Typing the name of a session leaves only rows that have it.
    fn filter(&mut self, n_rows: u64) -> Result<()> {
        let typed = |text: &str| {
            format!(
                "(() => {{ const it = document.querySelector('.around input'); it.value = {text}; \
                 it.dispatchEvent(new Event('input')); }})()"
            )
        };
        self.browser.ask(&typed("document.querySelector('.lanes .lit summary b').textContent"))?;
        let n_left = self.n(&format!("{ROWS}:not([hidden])"))?;
        ensure!((1..n_rows).contains(&n_left), "the filter leaves {n_left} of {n_rows}");
        let said = self.browser.text("document.querySelector('.filter output').textContent")?;
        ensure!(said == format!("{n_left} of {n_rows}"), "the filter says {said}");
        self.browser.ask(&typed("''"))?;
        ensure!(self.n(&format!("{ROWS}:not([hidden])"))? == n_rows, "the filter keeps something back");
        Ok(())
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

    /// A step of a schedule lights each read with the write that it returned, and draws an arrow between them.
    fn values_flow(&mut self) -> Result<()> {
        let selector = ".steps li[data-flows*=\"-\"]";
        self.browser.click(&center(&format!("document.querySelector('{selector}')")))?;
        let flows = self.browser.text(&format!("document.querySelector('{selector}').dataset.flows"))?;
        for pair in flows.split(' ') {
            for op in pair.split('-') {
                ensure!(self.n(&format!("[data-op=\"{op}\"].on"))? == 1, "{op} of {flows} is not lit");
            }
        }
        let n_arrows = self.n(".flow.tip")?;
        ensure!(n_arrows == flows.split(' ').count() as u64, "{n_arrows} arrows for {flows}");
        self.browser.press("Escape")?;
        ensure!(self.n(".flow")? == 0, "arrows stay");
        self.browser.point_nowhere()
    }

    /// A step of a program's run lights the line that reads, and the last one what is wrong.
    fn lines_light_up(&mut self) -> Result<()> {
        let lit = "[...document.querySelectorAll('.program .line.on')].map(it => it.dataset.line).join(' ')";
        self.browser.click(&center("document.querySelector('.stepper .next')"))?;
        let (shown, lines) = (self.shown()?, self.browser.text(lit)?);
        ensure!(
            shown.contains("take (s1.1, take(100), sees no other transaction) reads x = 60"),
            "the first step says {shown}"
        );
        ensure!(lines == "4", "the first step lights lines {lines}");
        ensure!(self.n(".flow.tip")? == 1 && self.n(".op.on")? == 2, "no value flows into the first read");
        for _ in 0..6 {
            self.browser.press("ArrowRight")?;
        }
        let (shown, lines) = (self.shown()?, self.browser.text(lit)?);
        ensure!(shown.contains("In the end, x = -40, y = -40: invariant is false"), "the last step says {shown}");
        ensure!(lines == "10", "the last step lights lines {lines}");
        self.browser.press("Escape")
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

    /// Copies a script or a command as it stands there.
    fn listing(&mut self) -> Result<()> {
        if self.n(".listing")? == 0 {
            return Ok(());
        }
        self.browser.grant_clipboard()?;
        self.browser.click(&center("document.querySelector('.listing button')"))?;
        let is_same = self.browser.text(
            "new Promise(done => setTimeout(done, 50)).then(() => navigator.clipboard.readText())\
             .then(it => it === document.querySelector('.listing pre').textContent + '\\n')",
        )?;
        ensure!(is_same == "true", "the listing is not what is copied");
        self.browser.point_nowhere()
    }

    /// A chart is there once, and as wide as there is room.
    fn charts(&mut self) -> Result<()> {
        if self.n(".chart")? == 0 {
            return Ok(());
        }
        let shown = "[...document.querySelectorAll('.chart')].filter(it => it.checkVisibility())\
                     .map(it => `${it.className} ${it.scrollWidth - it.clientWidth}`).join()";
        for (view, expected) in [(PHONE, "chart phone 0"), (DESK, "chart desk 0")] {
            self.browser.look(view)?;
            let shown = self.browser.text(shown)?;
            ensure!(shown == expected, "at {} pixels there is {shown}", view.width);
        }
        Ok(())
    }

    /// What was copied is a command that answers.
    fn run(&self, command: &str) -> Result<()> {
        let path = format!("{}:{}", self.tools.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh").args(["-c", command]).env("PATH", path).output()?;
        let is_answer = matches!(output.status.code(), Some(0 | 1));
        ensure!(is_answer, "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// A line of a lattice opens its history below the diagram, and one step back closes it again.
    fn lines_of_a_lattice(&mut self) -> Result<()> {
        let line = |nth: u32| format!("document.querySelector('.diagram a[href=\"#edge-{nth}\"]')");
        self.browser.ask(&format!("{}.focus()", line(1)))?;
        self.browser.press("Enter")?;
        self.opened("#1 ")?;
        self.gallery("lattice-open", &[(DESK, "desk"), (PHONE, "phone")])?;
        self.browser.look(DESK)?;
        let on_line = format!(
            "(() => {{ const path = {0}.querySelector('path'); {0}.scrollIntoView({{ block: 'start' }}); \
             const at = path.getPointAtLength(path.getTotalLength() / 3).matrixTransform(path.getScreenCTM()); \
             return [at.x, at.y]; }})()",
            line(2)
        );
        self.browser.click(&on_line)?;
        self.opened("#2 ")?;
        self.browser.press("Escape")?;
        self.browser.press("Escape")?;
        self.closed()?;
        let focused = self.browser.text("document.activeElement.getAttribute('href')")?;
        ensure!(focused == "#edge-2", "the focus is on {focused}");
        self.browser.click(&on_line)?;
        self.opened("#2 ")?;
        self.browser.click(&center("document.querySelector('.sheet button')"))?;
        self.closed()?;
        self.well()
    }

    fn opened(&mut self, start: &str) -> Result<()> {
        let title = self.browser.text("document.querySelector('.sheet:not([hidden]) section h2').textContent")?;
        ensure!(title.starts_with(start), "the sheet shows {title}");
        let marked = self.browser.text("document.querySelector('.diagram a[aria-current]').getAttribute('href')")?;
        ensure!(marked == format!("#edge-{}", start.trim_matches(['#', ' '])), "{marked} is lit");
        ensure!(self.n(".sheet .panel.allowed")? > 0 && self.n(".sheet .panel.forbidden")? > 0, "a side is missing");
        ensure!(self.n(".diagram a[aria-current]")? == 1, "several lines are lit");
        Ok(())
    }

    fn closed(&mut self) -> Result<()> {
        // Going back in history takes a moment.
        let is_closed = "new Promise(done => setTimeout(() => done(document.querySelector('.sheet').hidden), 100))";
        ensure!(self.browser.ask(is_closed)? == true, "the sheet stays open");
        ensure!(self.n(".diagram a[aria-current]")? == 0, "a line stays lit");
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

    /// Two sides stand beside each other on a wide screen, and below each other on a phone.
    fn sides(&mut self) -> Result<()> {
        self.browser.look(WIDE)?;
        let lefts =
            "[...document.querySelector('.panels').children].map(it => Math.round(it.getBoundingClientRect().x))";
        let are_beside = format!("(([one, two]) => one < two)({lefts})");
        ensure!(self.browser.ask(&are_beside)? == true, "the sides are not beside each other");
        self.browser.look(PHONE)?;
        ensure!(self.browser.ask(&are_beside)? == false, "the sides are beside each other on a phone");
        self.browser.look(DESK)
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
