//! Writes Cobra logs.

use super::{INITIAL_NULL, NOT_KNOWN, Version};
use crate::Format;
use crate::fault::quoted;
use crate::write::{Limits, USE_JSONL, WriteError, inexpressible, register_op};
use iso_history::{History, Name, Outcome, SessionId, TxnId};
use rustc_hash::FxHashSet;
use std::fs;
use std::path::{Path, PathBuf};

const LIMITS: Limits = Limits { format: Format::Cobra, allows_aborted: false, allows_unknown: true };

/// Writes a log per session into a directory without logs; it is made if it is missing.
pub(crate) fn write_directory(history: &History, directory: &Path) -> Result<(), WriteError> {
    LIMITS.check(history)?;
    LIMITS.check_initial(history, Name::Null)?;
    let numbers = txn_numbers(history)?;
    let mut logs = Vec::new();
    for session in history.sessions() {
        logs.push((log_path(history, session, directory)?, log(history, session, &numbers)?));
    }
    fs::create_dir_all(directory)?;
    if !crate::files(directory, "log")?.is_empty() {
        let message = format!("{} holds logs already; name another directory", directory.display());
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message).into());
    }
    for (path, bytes) in logs {
        fs::write(path, bytes)?;
    }
    Ok(())
}

fn log_path(history: &History, session: SessionId, directory: &Path) -> Result<PathBuf, WriteError> {
    let name = history.session_name(session);
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | ' ' | '\'' | '.');
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain) {
        Ok(directory.join(format!("{name}.log")))
    } else {
        let what = format!("the session {}: its name must be one of a file", quoted(name));
        inexpressible(Format::Cobra, what, USE_JSONL)
    }
}

/// The number of each transaction: the one that the names of its versions hold, or a free one.
fn txn_numbers(history: &History) -> Result<Vec<i64>, WriteError> {
    let mut numbers: Vec<Option<i64>> = vec![None; history.n_txns()];
    for txn in history.txns() {
        for (_, _, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))).filter(|it| it.0) {
            let Some(named) = Version::from_name(history.value(value)).and_then(|it| it.txn) else { continue };
            if numbers[txn.index()].replace(named).is_some_and(|it| it != named) {
                let what = format!("versions of several transactions, written by {}", history.label(txn));
                return inexpressible(Format::Cobra, what, USE_JSONL);
            }
        }
    }
    numbers[TxnId::INITIAL.index()] = Some(0);
    let taken: FxHashSet<i64> = numbers.iter().flatten().copied().collect();
    let mut free = (1..).filter(|it| !taken.contains(it));
    Ok(numbers.into_iter().map(|it| it.or_else(|| free.next()).unwrap_or_default()).collect())
}

fn log(history: &History, session: SessionId, numbers: &[i64]) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    for txn in history.session_txns(session) {
        record(b'S', &[numbers[txn.index()]], &mut bytes);
        ops(history, *txn, &mut bytes)?;
        if history.outcome(*txn) == Outcome::Committed {
            record(b'C', &[numbers[txn.index()]], &mut bytes);
        }
    }
    Ok(bytes)
}

fn ops(history: &History, txn: TxnId, bytes: &mut Vec<u8>) -> Result<(), WriteError> {
    for (is_write, key, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))) {
        let key = LIMITS.integer(history.key_name(key))?;
        let name = history.value(value);
        if name == Name::Null && !is_write {
            record(b'R', &[INITIAL_NULL, INITIAL_NULL, key, 0], bytes);
            continue;
        }
        let Some(Version { write_id, txn, value }) = Version::from_name(name) else {
            return inexpressible(
                Format::Cobra,
                format!("the value {}: values are integers there", name.shown()),
                USE_JSONL,
            );
        };
        if is_write {
            record(b'W', &[write_id, key, value], bytes);
        } else {
            record(b'R', &[txn.unwrap_or(NOT_KNOWN), write_id, key, value], bytes);
        }
    }
    Ok(())
}

fn record(tag: u8, numbers: &[i64], bytes: &mut Vec<u8>) {
    bytes.push(tag);
    for number in numbers {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
}
