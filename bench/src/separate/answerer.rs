//! The measuring program, `questions` of the crate iso-separate, built for release and asked line by line.

use super::inquiry::{Answer, Inquiry};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use xtask::root;

const NAME: &str = "questions";

/// It answers everything in one process, so that its start is in no time, and its peak memory is that of all questions.
#[derive(Debug)]
pub(crate) struct Answerer {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Answerer {
    pub(crate) fn start() -> Result<Self> {
        let mut command = Command::new(build()?);
        let mut child = command.arg("--bench").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let questions = child.stdin.take().context("no way to ask")?;
        let answers = BufReader::new(child.stdout.take().context("no way to hear the answers")?);
        Ok(Self { child, questions, answers })
    }

    pub(crate) fn ask(&mut self, inquiry: &Inquiry) -> Result<Answer> {
        let question = inquiry.to_line();
        // If it has ended, what it has to say about it comes first.
        let is_asked = writeln!(self.questions, "{question}").and_then(|()| self.questions.flush()).is_ok();
        let mut line = String::new();
        if !is_asked || self.answers.read_line(&mut line)? == 0 {
            bail!("the measuring program ended ({}) when asked: {question}", self.child.wait()?);
        }
        Answer::from_line(&line)
    }

    /// The most memory that it ever had, in kilobytes, where the system tells.
    pub(crate) fn peak_kilobytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches("kB").trim().parse().ok()
    }

    /// Lets it end.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { mut child, questions, answers } = self;
        drop((questions, answers));
        let status = child.wait()?;
        if !status.success() {
            bail!("the measuring program failed ({status})");
        }
        Ok(())
    }
}

/// Builds it, and says where it is.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["bench", "--package", "iso-separate", "--bench", NAME, "--no-run", "--message-format", "json"]);
    let output = cargo.current_dir(root()).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the measuring program cannot be built ({})", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages.lines().find_map(executable).context("cargo does not say where the measuring program is")
}

/// The program that a message of cargo is about.
fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_it = message["target"]["name"] == NAME && message["target"]["kind"][0] == "bench";
    message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_the_messages() {
        let ours =
            r#"{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"questions"},"executable":"deps/q-1"}"#;
        assert_eq!(executable(ours), Some(PathBuf::from("deps/q-1")));
        assert_eq!(executable(&ours.replace("\"bench\"", "\"lib\"")), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(executable("no message"), None);
    }
}
