//! Runs a command on a served database along a prediction, and looks at the run that comes of it.

use crate::commands::serve::{divergences, schema};
use crate::validation::{Validates, verdict};
use anyhow::bail;
use iso_answer::predict::{Prediction, Question};
use iso_collect::Target;
use iso_evidence::Budget;
use iso_formats::{ReadOptions, read_from};
use iso_history::{History, TxnId};
use iso_report::{Excerpt, Validation, ValidationVerdict};
use iso_serve::{Along, Opaque, ServeSetup, Served, Serving, Start, Updates, name_in};
use iso_store::{Policy, TxnName};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a session of a replay may be silent before others go on.
const PATIENCE: Duration = Duration::from_millis(300);

/// The command that was asked for.
pub(crate) struct Asked {
    command: String,
    schema: Option<String>,
}

impl Asked {
    /// A command for the shell, and the file with its tables.
    pub(crate) fn new(command: &str, file: Option<&Path>) -> anyhow::Result<Self> {
        if command.trim().is_empty() {
            bail!("--validate-command needs a command, such as \"python3 app.py\"");
        }
        Ok(Self { command: command.trim().to_owned(), schema: file.map(schema).transpose()? })
    }

    /// For an observed run of it.
    pub(crate) fn of_run(&self, observed: &History) -> CommandValidator<'_> {
        let names = std::iter::once(TxnName::new("", 0)).chain(observed.txns().map(|it| name_in(observed, it)));
        CommandValidator { asked: self, names: names.collect() }
    }
}

/// A command with the transactions of the observed run.
pub(crate) struct CommandValidator<'a> {
    asked: &'a Asked,
    /// Of the transactions of the observed history, the initial one first.
    names: Vec<TxnName>,
}

/// What is recorded in memory.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A run along a prediction.
struct Run {
    history: History,
    served: Served,
    /// How the command ended, if it did not end well, with the last it said.
    failed: Option<String>,
}

impl Validates for CommandValidator<'_> {
    fn application(&self) -> &str {
        &self.asked.command
    }

    fn validate(
        &self,
        question: Question,
        prediction: &Prediction,
        order: &[TxnId],
        budget: &Budget<'_>,
    ) -> Validation {
        let (verdict, divergences, failed, history) = match self.run(question, prediction, order) {
            Err(reason) => (ValidationVerdict::NotValidated { reason }, Vec::new(), None, String::new()),
            Ok(run) => {
                let history = Excerpt::whole(&run.history, None).history;
                (verdict(&run.history, question, budget), divergences(&run.served), run.failed, history)
            }
        };
        Validation {
            application: self.asked.command.clone(),
            calls: Vec::new(),
            verdict,
            divergences,
            failed: failed.into_iter().collect(),
            history,
        }
    }
}

impl CommandValidator<'_> {
    fn name(&self, prediction: &Prediction, txn: TxnId) -> TxnName {
        let observed = prediction.txns.get(txn.index()).and_then(|it| self.names.get(it.index()));
        // A read from a transaction that does not run diverges, because there is none of this name.
        observed.cloned().unwrap_or_else(|| TxnName::new("", 0))
    }

    fn run(&self, question: Question, prediction: &Prediction, order: &[TxnId]) -> Result<Run, String> {
        let Along { plan, order } = Along::renamed(&prediction.history, order, |txn| self.name(prediction, txn));
        let buffer = Buffer::default();
        let setup = ServeSetup {
            level: question.level,
            policy: Policy::Replay(plan),
            seed: 1,
            sessions: None,
            order,
            patience: PATIENCE,
            schema: self.asked.schema.clone(),
            engine: None,
            listen: "127.0.0.1:0".to_owned(),
            target: Target::Stream(Box::new(buffer.clone())),
            start: if self.asked.schema.is_some() { Start::AtOnce } else { Start::AtMarker },
            updates: Updates::Newest,
            opaque: Opaque::Refused,
        };
        let serving = Serving::start(setup).map_err(|it| it.to_string())?;
        let (host, port) = (serving.address().ip().to_string(), serving.address().port().to_string());
        let mut command = Command::new("sh");
        command.args(["-c", &self.asked.command]).env("PGHOST", host).env("PGPORT", port).stdin(Stdio::null());
        let output = command.output();
        let served = serving.end().map_err(|it| it.to_string())?;
        let output = output.map_err(|it| format!("the command does not run: {it}"))?;
        if let Some(failure) = served.failure.clone() {
            return Err(failure);
        }
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let last = said.lines().rev().find(|it| !it.trim().is_empty()).unwrap_or("it said nothing").to_owned();
        let failed = (!output.status.success()).then(|| format!("the command ended with {}: {last}", output.status));
        let bytes = buffer.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reading = read_from("the run", bytes.as_slice(), &ReadOptions::default()).map_err(|it| it.to_string())?;
        let history = reading.into_history().map_err(|it| it.first().map(ToString::to_string).unwrap_or_default())?;
        Ok(Run { history, served, failed })
    }
}
