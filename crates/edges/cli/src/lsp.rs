//! A language server for editors: what is wrong with histories, programs and levels while they are written, and what names mean.
//!
//! It speaks as much of the Language Server Protocol as that needs, over standard input and output: texts come whole, and
//! after each change their mistakes go out. Hovering over a level or an anomaly says what it is.

use crate::text_file;
use iso_evidence::Anomaly;
use iso_formats::{ReadOptions, read_from};
use iso_history::{PlaceUnit, Severity};
use iso_program::{ProgramError, Templates};
use iso_spec::{Catalogue, SpecError};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

/// No message is longer.
const LONGEST: usize = 64 << 20;
/// What parsers call the text of an editor.
const NAME: &str = "text";
/// The protocol's code of an error.
const NO_SUCH_METHOD: i32 = -32601;

/// Serves one editor until it says goodbye; whether it did so in order.
pub(crate) fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    let mut server = Server::default();
    while let Some(message) = read(input)? {
        if message["method"] == "exit" {
            return Ok(server.is_shut_down);
        }
        for answer in server.handle(&message) {
            write(output, &answer)?;
        }
    }
    Ok(server.is_shut_down)
}

/// The next message; none at the end.
fn read(input: &mut impl BufRead) -> io::Result<Option<Value>> {
    let (mut length, mut line) = (None, String::new());
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let invalid = |words: &str| io::Error::new(io::ErrorKind::InvalidData, words.to_owned());
    let length = length.filter(|it| *it <= LONGEST).ok_or_else(|| invalid("a message has no Content-Length"))?;
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(|it| invalid(&format!("a message is no JSON: {it}")))
}

fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

/// The texts that are open in the editor.
#[derive(Debug, Default)]
struct Server {
    texts: HashMap<String, String>,
    is_shut_down: bool,
}

impl Server {
    /// What to say to a message.
    fn handle(&mut self, message: &Value) -> Vec<Value> {
        let (id, params) = (&message["id"], &message["params"]);
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let answer = |result: Value| vec![json!({ "jsonrpc": "2.0", "id": id, "result": result })];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => answer(json!({
                // Texts come whole.
                "capabilities": { "textDocumentSync": 1, "hoverProvider": true },
                "serverInfo": { "name": "isoscope" },
            })),
            "shutdown" => {
                self.is_shut_down = true;
                answer(Value::Null)
            }
            "textDocument/didOpen" => self.look(uri, &params["textDocument"]["text"]),
            "textDocument/didChange" => {
                let last = params["contentChanges"].as_array().and_then(|it| it.last());
                self.look(uri, last.map_or(&Value::Null, |it| &it["text"]))
            }
            "textDocument/didClose" => {
                self.texts.remove(uri);
                vec![published(uri, &[])]
            }
            "textDocument/hover" => answer(self.hover(uri, &params["position"]).unwrap_or_default()),
            // Nothing is owed to notices.
            _ if id.is_null() => Vec::new(),
            other => {
                let error = json!({ "code": NO_SUCH_METHOD, "message": format!("{other} is not known here") });
                vec![json!({ "jsonrpc": "2.0", "id": id, "error": error })]
            }
        }
    }

    /// A text is new, or has changed.
    fn look(&mut self, uri: &str, text: &Value) -> Vec<Value> {
        let Some(text) = text.as_str() else { return Vec::new() };
        self.texts.insert(uri.to_owned(), text.to_owned());
        vec![published(uri, &mistakes(uri, text))]
    }

    /// What the word below the pointer means.
    fn hover(&self, uri: &str, position: &Value) -> Option<Value> {
        let line = self.texts.get(uri)?.lines().nth(usize::try_from(position["line"].as_u64()?).ok()?)?;
        let at = usize::try_from(position["character"].as_u64()?).ok()?;
        let value = meaning(word_at(line, at)?)?;
        Some(json!({ "contents": { "kind": "markdown", "value": value } }))
    }
}

/// Something wrong with a text. Lines are counted from 1, and so are columns; without one, it is the whole line.
struct Mistake {
    line: u64,
    column: Option<u32>,
    message: String,
    severity: Severity,
}

/// What is wrong with a text, whose name says what it is.
fn mistakes(uri: &str, text: &str) -> Vec<Mistake> {
    let error = |line: u32, column: u32, message: &str, hint: &str| {
        let message = if hint.is_empty() { message.to_owned() } else { format!("{message}\nhint: {hint}") };
        Mistake { line: line.into(), column: Some(column), message, severity: Severity::Error }
    };
    match uri.rsplit('.').next() {
        Some("history") => of_history(text),
        Some("txn") => {
            let errors = of_program(text);
            errors.iter().map(|it| error(it.line, it.column, &it.message, &it.hint)).collect()
        }
        Some("spec") => {
            let errors = of_spec(uri, text);
            errors.iter().map(|it| error(it.line, it.column, &it.message, &it.hint)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_history(text: &str) -> Vec<Mistake> {
    let reading = match read_from(NAME, text.as_bytes(), &ReadOptions::default()) {
        Ok(reading) => reading,
        Err(error) => {
            return vec![Mistake { line: 1, column: None, message: error.to_string(), severity: Severity::Error }];
        }
    };
    let line = |at: Option<(u64, PlaceUnit)>| at.filter(|it| it.1 == PlaceUnit::Line).map_or(1, |it| it.0);
    let defects = reading.defects.into_iter();
    let mistake = |(column, message), line, severity| Mistake { line, column, message, severity };
    defects.map(|it| mistake(placed(&it.message), line(it.at), it.severity)).collect()
}

/// The words of a defect may begin with its column and end with its line, which an editor shows by itself.
fn placed(message: &str) -> (Option<u32>, String) {
    let parts = message.strip_prefix("column ").and_then(|it| it.split_once(": "));
    match parts.and_then(|(column, words)| Some((column.parse().ok()?, words))) {
        Some((column, words)) => {
            let words: Vec<&str> = words.lines().take_while(|it| !it.starts_with("    ")).collect();
            (Some(column), words.join("\n"))
        }
        None => (None, message.to_owned()),
    }
}

/// Imported files are looked for beside the text; their mistakes are not its own.
fn of_spec(uri: &str, text: &str) -> Vec<SpecError> {
    let folder = Path::new(uri.strip_prefix("file://").unwrap_or(uri)).parent().unwrap_or(Path::new(""));
    let mut loader =
        |name: &str| text_file::read(&folder.join(name), "spec file").map_err(|it| it.root_cause().to_string());
    let errors = iso_spec::parse(text, NAME, &mut loader).err().unwrap_or_default();
    errors.into_iter().filter(|it| it.file == NAME).collect()
}

/// A text without sessions is one of any number of transactions.
fn of_program(text: &str) -> Vec<ProgramError> {
    let errors = iso_program::parse(text, NAME).err().unwrap_or_default();
    if Templates::parse(text, NAME).is_ok() { Vec::new() } else { errors }
}

/// The notice that says all mistakes of a text.
fn published(uri: &str, mistakes: &[Mistake]) -> Value {
    let one = |it: &Mistake| {
        let line = it.line.saturating_sub(1);
        let start = it.column.map_or(0, |it| it.saturating_sub(1));
        let end = if it.column.is_some() { start + 1 } else { u32::from(u16::MAX) };
        json!({
            "range": { "start": { "line": line, "character": start }, "end": { "line": line, "character": end } },
            "severity": if it.severity == Severity::Error { 1 } else { 2 },
            "source": "isoscope",
            "message": it.message,
        })
    };
    let all: Vec<Value> = mistakes.iter().map(one).collect();
    let params = json!({ "uri": uri, "diagnostics": all });
    json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params })
}

/// The name at a place of a line, which is counted in UTF-16 as the protocol does.
fn word_at(line: &str, at: usize) -> Option<&str> {
    let mut n_units = 0;
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.');
    let (place, _) = line.char_indices().find(|(_, it)| {
        n_units += it.len_utf16();
        n_units > at
    })?;
    let start =
        line[..place].rfind(|it| !is_part(it)).map_or(0, |it| it + line[it..].chars().next().map_or(1, char::len_utf8));
    let end = line[place..].find(|it| !is_part(it)).map_or(line.len(), |it| place + it);
    Some(line.get(start..end)?.trim_matches('.')).filter(|it| !it.is_empty())
}

/// What a level or an anomaly is.
fn meaning(word: &str) -> Option<String> {
    if let Some(anomaly) = Anomaly::from_name(word) {
        return Some(format!("**{word}**, an anomaly\n\n{}", anomaly.summary()));
    }
    let spec = Catalogue::builtin().find(word).ok()?;
    Some(format!(
        "**{}**, a level\n\n{}\n\n```\n{}\n```\n\n{}",
        spec.name(),
        spec.summary(),
        spec.text().trim(),
        spec.source()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(messages: &[Value]) -> Vec<Value> {
        let mut input = Vec::new();
        for message in messages {
            write(&mut input, message).unwrap();
        }
        let mut output = Vec::new();
        serve(&mut input.as_slice(), &mut output).unwrap();
        let mut rest = output.as_slice();
        std::iter::from_fn(|| read(&mut rest).unwrap()).collect()
    }

    fn opened(uri: &str, text: &str) -> Value {
        let document = json!({ "uri": uri, "text": text });
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } })
    }

    fn mistakes_of(uri: &str, text: &str) -> Vec<Value> {
        said(&[opened(uri, text)])[0]["params"]["diagnostics"].as_array().unwrap().clone()
    }

    #[test]
    fn mistakes_have_places() {
        let found = mistakes_of("file:///a.history", "s1: { w(x,1) }\ns2: { r(x,1) \n");
        assert_eq!((found.len(), &found[0]["range"]["start"]["line"]), (1, &json!(1)), "{found:?}");
        let found = mistakes_of("file:///a.history", "init x=0\ns1: { r(x,7 }\n");
        assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 12 }), "{found:?}");
        assert_eq!(found[0]["message"], "expected `)` after the value, found `}`");
        let found = mistakes_of("file:///a.txn", "var x: int = 0\ntxn t() { y = 1 }\nrun t()\ninvariant x == 0\n");
        assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 10 }), "{found:?}");
        let found = mistakes_of("file:///a.spec", "import cerone\nlevel mine in cerone =\n  nothing\n");
        assert_eq!(found[0]["range"]["start"]["line"], 2, "{found:?}");
        for (uri, text) in [
            ("file:///a.history", "s1: { w(x,1) }\n"),
            ("file:///a.txn", "table t(k) { n: int }\ntxn read(k) { let n = t[k].n }\n"),
            ("file:///a.spec", "import cerone\nlevel mine in cerone = cerone.ra\n"),
            ("file:///a.md", "anything"),
        ] {
            assert!(mistakes_of(uri, text).is_empty(), "{uri}");
        }
    }

    #[test]
    fn a_level_and_an_anomaly_have_a_meaning() {
        let hover = |character: u64| {
            let position = json!({ "line": 0, "character": character });
            let params = json!({ "textDocument": { "uri": "file:///a.history" }, "position": position });
            json!({ "jsonrpc": "2.0", "id": character, "method": "textDocument/hover", "params": params })
        };
        let open = opened("file:///a.history", "# expect: si; not ser (write-skew) ✓ ser\ns1: { w(x,1) }\n");
        let answers = said(&[open, hover(11), hover(30), hover(2), hover(37)]);
        let text = |nth: usize| answers[nth]["result"]["contents"]["value"].as_str().unwrap_or_default();
        assert!(
            text(1).contains("a level") && text(2).contains("an anomaly") && text(4).contains("a level"),
            "{answers:?}"
        );
        assert_eq!(answers[3]["result"], Value::Null);
    }

    #[test]
    fn an_editor_is_greeted_and_may_leave() {
        let ask = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let answers = said(&[ask(1, "initialize"), ask(2, "workspace/symbol"), ask(3, "shutdown")]);
        assert_eq!(answers[0]["result"]["capabilities"]["hoverProvider"], true);
        assert_eq!(answers[1]["error"]["code"], NO_SUCH_METHOD);
        assert_eq!(answers[2]["result"], Value::Null);
        let (mut input, mut output) = (b"Content-Length: x\r\n\r\n".as_slice(), Vec::new());
        assert_eq!(serve(&mut input, &mut output).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
