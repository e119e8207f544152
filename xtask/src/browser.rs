//! Drives Chromium through its `DevTools` protocol, over a pipe: no driver, no library and no port in between.
//!
//! With `--remote-debugging-pipe`, Chromium reads commands from file descriptor 3 and answers on 4, each message a JSON
//! text that ends in a zero byte.

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A browser that takes longer than this to answer is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running Chromium with one page.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    profile: PathBuf,
    n_sent: u64,
    session: Option<String>,
    has_loaded: bool,
    problems: Vec<String>,
    /// A server of ours that pages may ask.
    trusted: Option<String>,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
}

impl Browser {
    /// Starts Chromium with an empty profile in a folder that is removed at the end.
    pub(crate) fn start(profile: &Path) -> Result<Self> {
        fs::create_dir_all(profile)?;
        // The shell moves our pipes to where Chromium expects them, and becomes Chromium.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", "chromium", "--headless"])
            .args(["--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
            .args(["--disable-sync", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start chromium")?;
        let commands = process.stdin.take().context("chromium takes no commands")?;
        let answers = process.stdout.take().context("chromium gives no answers")?;
        let (send, messages) = channel();
        thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                if serde_json::from_slice(&message).is_ok_and(|it: Value| send.send(it).is_err()) {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            profile: profile.to_owned(),
            n_sent: 0,
            session: None,
            has_loaded: false,
            problems: Vec::new(),
            trusted: None,
        };
        browser.open()?;
        Ok(browser)
    }

    fn open(&mut self) -> Result<()> {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &attach)?;
        self.session = Some(session["sessionId"].as_str().context("no session")?.to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(())
    }

    /// Loads a file, and waits until it is there.
    pub(crate) fn visit(&mut self, file: &Path) -> Result<()> {
        self.visit_url(&format!("file://{}", file.display()))
    }

    /// From now on, requests to addresses that begin so are no problem.
    pub(crate) fn trust(&mut self, address: &str) {
        self.trusted = Some(address.to_owned());
    }

    /// Loads an address, and waits until it is there.
    pub(crate) fn visit_url(&mut self, url: &str) -> Result<()> {
        self.has_loaded = false;
        let answer = self.call("Page.navigate", &json!({ "url": url }))?;
        if let Some(error) = answer["errorText"].as_str() {
            bail!("{url}: {error}");
        }
        let since = Instant::now();
        while !self.has_loaded {
            if since.elapsed() > PATIENCE {
                bail!("{url} does not load");
            }
            let message = self.messages.recv_timeout(PATIENCE).context("chromium says nothing")?;
            self.hear(&message);
        }
        Ok(())
    }

    /// Sets the size of the window and the colour scheme.
    pub(crate) fn look(&mut self, view: View) -> Result<()> {
        let size = json!({ "width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if view.is_dark { "dark" } else { "light" };
        // Nobody wants pictures of something on its way.
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "", "features": features }))?;
        Ok(())
    }

    /// Shows the page as a printer would.
    pub(crate) fn print(&mut self) -> Result<()> {
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "print" })).map(drop)
    }

    /// The value of an expression in the page.
    pub(crate) fn ask(&mut self, expression: &str) -> Result<Value> {
        let question = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &question)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("{expression}: {thrown}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// The same, as text.
    pub(crate) fn text(&mut self, expression: &str) -> Result<String> {
        let value = self.ask(expression)?;
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Clicks where an expression says, as `[x, y]` in the window.
    pub(crate) fn click(&mut self, place: &str) -> Result<()> {
        let at = self.ask(place)?;
        let (Some(x), Some(y)) = (at[0].as_f64(), at[1].as_f64()) else { bail!("{place} is no place: {at}") };
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Moves the mouse out of the way.
    pub(crate) fn point_nowhere(&mut self) -> Result<()> {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": 1, "y": 1 })).map(drop)
    }

    /// Presses a key: `ArrowRight`.
    pub(crate) fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "ArrowRight" => 39,
            "ArrowLeft" => 37,
            "Escape" => 27,
            "Enter" => 13,
            _ => 9,
        };
        // Only a key that types something activates what has the focus.
        let kinds: &[&str] = if key == "Enter" { &["rawKeyDown", "char", "keyUp"] } else { &["rawKeyDown", "keyUp"] };
        for kind in kinds {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if *kind == "char" {
                event["text"] = json!("\r");
            }
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Keeps a picture of the whole page.
    pub(crate) fn screenshot(&mut self, file: &Path) -> Result<()> {
        self.capture(file, &json!({ "format": "png", "captureBeyondViewport": true }))
    }

    /// Keeps a picture of what is in view.
    pub(crate) fn snapshot(&mut self, file: &Path) -> Result<()> {
        self.capture(file, &json!({ "format": "png" }))
    }

    fn capture(&mut self, file: &Path, wanted: &Value) -> Result<()> {
        // What scrolls is painted a frame later.
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")?;
        let answer = self.call("Page.captureScreenshot", wanted)?;
        let picture = answer["data"].as_str().and_then(from_base64).context("chromium sent no picture")?;
        fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Lets pages use the clipboard.
    pub(crate) fn grant_clipboard(&mut self) -> Result<()> {
        let permissions = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        self.call("Browser.grantPermissions", &permissions).map(drop)
    }

    /// Errors in the console, exceptions, and requests for anything but the file, since the last time.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.n_sent += 1;
        let id = self.n_sent;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = self.session.as_ref().filter(|_| !method.starts_with("Browser.")) {
            message["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).context("chromium is gone")?;
        loop {
            let message = self.messages.recv_timeout(PATIENCE).with_context(|| format!("no answer to {method}"))?;
            if message["id"] != id {
                self.hear(&message);
            } else if let Some(error) = message.get("error") {
                return Err(anyhow!("{method}: {error}"));
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    fn hear(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Page.loadEventFired") => self.has_loaded = true,
            Some("Runtime.exceptionThrown") => self.problems.push(params["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => self.problems.push(params.to_string()),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.problems.push(params["entry"]["text"].to_string());
            }
            Some("Network.requestWillBeSent") => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                let is_trusted = self.trusted.as_ref().is_some_and(|it| url.starts_with(it.as_str()));
                let is_local = ["file:", "about:", "data:", "blob:"].iter().any(|it| url.starts_with(it));
                if !is_local && !is_trusted {
                    self.problems.push(format!("the page asked for {url}"));
                }
            }
            Some("Page.javascriptDialogOpening") => self.problems.push("the page opened a dialog".to_owned()),
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.call("Browser.close", &json!({})).ok();
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(5) && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        self.process.kill().ok();
        self.process.wait().ok();
        fs::remove_dir_all(&self.profile).ok();
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |it: u8| match it {
        b'A'..=b'Z' => Some(it - b'A'),
        b'a'..=b'z' => Some(it - b'a' + 26),
        b'0'..=b'9' => Some(it - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0u32;
        for place in 0..4 {
            bits = bits << 6 | u32::from(chunk.get(place).map_or(Some(0), |it| digit(*it))?);
        }
        bytes.extend(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_back() {
        for (text, expected) in [("", ""), ("aQ==", "i"), ("aXM=", "is"), ("aXNv", "iso"), ("aXNvcw==", "isos")] {
            assert_eq!(from_base64(text).as_deref(), Some(expected.as_bytes()));
        }
        assert_eq!(from_base64("a*"), None);
    }
}
