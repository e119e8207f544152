//! What became of acknowledged writes, and what was done to nodes meanwhile.

use crate::amounts::{many, span};
use iso_evidence::{Anomaly, LostWrite, lost_writes};
use iso_history::{History, OpId};
use serde::{Deserialize, Serialize};

/// So many lost writes are told one by one.
const MAX_TOLD: usize = 10;

/// Are acknowledged writes there at the end?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurabilityReport {
    /// The sessions that read when all others had ended.
    pub final_sessions: Vec<String>,
    /// How many acknowledged writes are gone.
    pub lost: u64,
    /// Some of them.
    pub writes: Vec<LostWriteReport>,
}

/// An acknowledged write that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWriteReport {
    /// The write, as our notation has it.
    pub write: String,
    /// Its transaction.
    pub writer: String,
    /// What was read at the end instead, shortened.
    pub read: String,
    /// By which transaction.
    pub reader: String,
}

impl DurabilityReport {
    /// What a history with these final sessions says; none if it has no such sessions.
    pub fn new(history: &History, final_sessions: &[String]) -> Option<Self> {
        let is_there = |name: &&String| history.sessions().any(|it| history.session_name(it) == name.as_str());
        let final_sessions: Vec<String> = final_sessions.iter().filter(is_there).cloned().collect();
        if final_sessions.is_empty() {
            return None;
        }
        let lost = lost_writes(history, |it| final_sessions.iter().any(|name| name == history.session_name(it)));
        let told = |it: &LostWrite| LostWriteReport {
            write: history.render_op(it.write),
            writer: history.label(history.txn_of(it.write)),
            read: shortened(history, it.read),
            reader: history.label(history.txn_of(it.read)),
        };
        let writes = lost.iter().take(MAX_TOLD).map(told).collect();
        Some(Self { final_sessions, lost: lost.len() as u64, writes })
    }

    /// What is to say about it, a sentence each; the first one is the verdict.
    pub(crate) fn words(&self) -> Vec<String> {
        if self.lost == 0 {
            return vec!["Every acknowledged write is there at the final read.".to_owned()];
        }
        let gone = if self.lost == 1 { "is gone" } else { "are gone" };
        let lost = many(self.lost, "acknowledged write");
        let mut words = vec![format!("{}: {lost} {gone} at the final read.", Anomaly::LostAcknowledgedWrite)];
        words.extend(
            self.writes.iter().map(|it| {
                format!("{} of {} was acknowledged, and {} read {}.", it.write, it.writer, it.reader, it.read)
            }),
        );
        words
    }
}

/// A read; of a long list, its end.
fn shortened(history: &History, read: OpId) -> String {
    const LONGEST: usize = 60;
    let text = history.render_op(read);
    let n_letters = text.chars().count();
    if n_letters <= LONGEST {
        return text;
    }
    let beginning: String = text.chars().take(LONGEST / 2).collect();
    let end: String = text.chars().skip(n_letters - LONGEST / 2).collect();
    format!("{beginning}…{end}")
}

/// Something that was done to nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultMark {
    /// What: `kill`.
    pub fault: String,
    /// To which node; none for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// When, in seconds since the start.
    pub at: f64,
}

impl FaultMark {
    /// `kill n2 after 5 s`.
    pub(crate) fn words(&self) -> String {
        let node = self.node.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        format!("{}{node} after {}", self.fault, span(self.at))
    }

    /// All of them in one line, and of many the first ones.
    pub(crate) fn in_words(marks: &[Self]) -> String {
        const MAX: usize = 8;
        let mut words: Vec<String> = marks.iter().take(MAX).map(Self::words).collect();
        if marks.len() > MAX {
            words.push(format!("and {} more", marks.len() - MAX));
        }
        words.join(", ")
    }
}
