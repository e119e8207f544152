//! The protocol of docs/drivers.md for engines in Rust: one thread a session, and an engine is three small traits.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// An engine.
pub trait Engine: Send + Sync + 'static {
    /// What `hello` is answered with, apart from the protocol.
    fn hello(&self) -> Value;

    /// Begins a transaction of one of its levels.
    fn begin(&self, level: &str) -> Result<Box<dyn Txn + '_>, String>;
}

/// A transaction. Keys and values are texts.
pub trait Txn {
    /// The value of a row.
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String>;
    /// Writes a row.
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String>;
    /// Removes a row.
    fn delete(&mut self, key: &str) -> Result<(), String>;
    /// The rows whose keys begin with a prefix.
    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String>;
    /// Commits.
    fn commit(self: Box<Self>) -> Result<(), Refused>;
}

/// Why there was no commit.
pub enum Refused {
    /// Others came first.
    Conflict(String),
    /// Something else.
    Broken(String),
}

/// Serves an engine until standard input ends.
pub fn serve(engine: impl Engine) {
    let engine = Arc::new(engine);
    let out = Arc::new(Mutex::new(stdout()));
    let mut sessions: HashMap<u64, Sender<Value>> = HashMap::new();
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request: Value = serde_json::from_str(&line).expect("isoscope writes JSON");
        if request["do"] == "hello" {
            let mut hello = engine.hello();
            hello["protocol"] = 1.into();
            answer(&out, &request, "ok", hello);
            continue;
        }
        let session = request["session"].as_u64().expect("every other request has a session");
        let is_last = request["do"] == "close";
        let sender = sessions.entry(session).or_insert_with(|| {
            let (sender, requests) = channel();
            let (engine, out) = (Arc::clone(&engine), Arc::clone(&out));
            thread::spawn(move || run(&*engine, &requests, &out));
            sender
        });
        sender.send(request).ok();
        if is_last {
            sessions.remove(&session);
        }
    }
}

type Out = Arc<Mutex<std::io::Stdout>>;

fn answer(out: &Out, request: &Value, kind: &str, what: Value) {
    let mut out = out.lock().expect("nobody panics while writing");
    writeln!(out, "{}", json!({"id": request["id"], kind: what})).and_then(|()| out.flush()).ok();
}

fn run(engine: &dyn Engine, requests: &Receiver<Value>, out: &Out) {
    let mut open: Option<Box<dyn Txn + '_>> = None;
    for request in requests {
        match act(engine, &mut open, &request) {
            Ok(ok) => answer(out, &request, "ok", ok),
            Err((kind, why)) => {
                if kind == "conflict" {
                    open = None;
                }
                answer(out, &request, kind, why.into());
            }
        }
    }
}

fn act<'e>(
    engine: &'e dyn Engine,
    open: &mut Option<Box<dyn Txn + 'e>>,
    request: &Value,
) -> Result<Value, (&'static str, String)> {
    let broken = |why: String| ("broken", why);
    let key = request["key"].as_str().unwrap_or_default();
    let value = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).map_err(|it| broken(it.to_string()));
    let what = request["do"].as_str().unwrap_or_default();
    if ["open", "close"].contains(&what) {
        *open = None;
        return Ok(Value::Null);
    }
    if what == "begin" {
        *open = Some(engine.begin(request["level"].as_str().unwrap_or_default()).map_err(broken)?);
        return Ok(Value::Null);
    }
    if !["get", "put", "append", "delete", "scan", "commit", "abort"].contains(&what) {
        return Err(("unsupported", what.to_owned()));
    }
    let txn = open.as_mut().ok_or_else(|| broken("no transaction is open".to_owned()))?;
    match what {
        "get" => return txn.get(key).map_err(broken)?.map_or(Ok(Value::Null), value),
        "put" => txn.put(key, request["value"].to_string().as_bytes()).map_err(broken)?,
        "append" => {
            let mut list = match txn.get(key).map_err(broken)? {
                Some(bytes) => value(bytes)?,
                None => json!([]),
            };
            list.as_array_mut().ok_or_else(|| broken("no list".to_owned()))?.push(request["value"].clone());
            txn.put(key, list.to_string().as_bytes()).map_err(broken)?;
        }
        "delete" => txn.delete(key).map_err(broken)?,
        "scan" => {
            let prefix = format!("{}/", request["table"].as_str().unwrap_or_default());
            let rows = txn.scan(&prefix).map_err(broken)?;
            return rows.into_iter().map(|(key, bytes)| Ok(json!([key, value(bytes)?]))).collect();
        }
        "commit" => {
            let txn = open.take().expect("it was there");
            txn.commit().map_err(|why| match why {
                Refused::Conflict(why) => ("conflict", why),
                Refused::Broken(why) => broken(why),
            })?;
        }
        _ => *open = None,
    }
    Ok(Value::Null)
}

/// The first key after all that begin with a prefix that ends in `/`.
pub fn after(prefix: &str) -> String {
    format!("{}0", &prefix[..prefix.len() - 1])
}

/// The folder of a database: the first argument, or a temporary one that lives as long as the process.
pub fn folder() -> std::path::PathBuf {
    match std::env::args().nth(1) {
        Some(folder) => folder.into(),
        None => tempfile::tempdir().expect("there is room for a folder").keep(),
    }
}
