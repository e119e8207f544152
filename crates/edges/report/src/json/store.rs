//! The document of `store run` as JSON, and back.

use super::check::{counts, read_counts};
use super::collect::{assertion, read_assertion};
use super::members::{Members, Read, count, items, list, maybe_text, string, text, truth};
use super::{JsonLayout, document, laid_out};
use crate::document::LevelName;
use crate::store::{StoreReport, StoreStep};
use iso_spec::Level;
use serde_json::Value;

impl StoreReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("store");
        let [committed, aborted, conflicts] = self.endings;
        members.put("application", self.application.as_str());
        members.put("level", self.level.short.as_str());
        members.put("policy", self.policy.as_str());
        members.put("sessions", self.sessions);
        members.put("txns", self.txns);
        members.put("seed", self.seed);
        members.put("retries", self.retries);
        members.put("committed", committed);
        members.put("aborted", aborted);
        members.put("conflicts", conflicts);
        members.put("history", counts(&self.history));
        members.put("assertions", list(&self.assertions, assertion));
        members.put("transactions", list(&self.transactions, step));
        members.put("output", self.output.as_deref());
        members.put("next", list(&self.next, |it| it.as_str().into()));
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let short = text(of, "level")?;
        let full = Level::from_name(&short).map_or_else(|| short.clone(), |it| it.full_name().to_owned());
        Ok(Self {
            application: text(of, "application")?,
            level: LevelName { short, full },
            policy: text(of, "policy")?,
            sessions: count(of, "sessions")?,
            txns: count(of, "txns")?,
            seed: count(of, "seed")?,
            retries: truth(of, "retries")?,
            endings: [count(of, "committed")?, count(of, "aborted")?, count(of, "conflicts")?],
            history: read_counts(&of["history"])?,
            assertions: items(of, "assertions", read_assertion)?,
            transactions: items(of, "transactions", read_step)?,
            output: maybe_text(of, "output"),
            next: items(of, "next", string)?,
        })
    }
}

fn step(of: &StoreStep) -> Value {
    let mut members = Members::default();
    members.put("txn", of.txn.as_str());
    members.put("call", of.call.as_str());
    members.put("ending", of.ending.as_str());
    members.put("reason", of.reason.as_deref());
    members.done()
}

fn read_step(of: &Value) -> Read<StoreStep> {
    Ok(StoreStep {
        txn: text(of, "txn")?,
        call: text(of, "call")?,
        ending: text(of, "ending")?,
        reason: maybe_text(of, "reason"),
    })
}
