//! `isoscope playground`: the page is there, it answers, and nobody else is answered.

use crate::tool::{WRITE_SKEW, tool};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

struct Playground {
    process: Child,
    host: String,
}

impl Playground {
    fn start() -> Self {
        let mut process = tool(Path::new(".")).arg("playground").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let host =
            line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).split('/').next().unwrap().to_owned();
        assert!(host.starts_with("127.0.0.1:"), "{line}");
        Self { process, host }
    }

    /// The status line, the headers and the body.
    fn ask(&self, request: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "{request} HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn own(&self, request: &str, body: &str) -> (String, String) {
        self.ask(request, &format!("Host: {}\r\n", self.host), body)
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn the_page_is_served_and_answers() {
    let playground = Playground::start();
    let (head, page) = playground.own("GET /", "");
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("default-src 'none'"), "{head}");
    for name in ["page.js", "page.css"] {
        assert!(page.contains(name) && playground.own(&format!("GET /{name}"), "").0.contains("200"), "{name}");
    }
    let question = json!({ "kind": "history", "text": WRITE_SKEW, "choice": "ser" }).to_string();
    let answer: Value = serde_json::from_str(&playground.own("POST /ask", &question).1).unwrap();
    assert_eq!(answer["headline"], "serializable (ser): violated (write-skew)");
    assert!(answer["page"].as_str().unwrap().contains("<svg"), "no picture");
    assert!(playground.own("GET /etc/passwd", "").0.contains("404"));
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let playground = Playground::start();
    let host = &playground.host;
    for headers in
        ["Host: elsewhere.example\r\n".to_owned(), format!("Host: {host}\r\nOrigin: http://elsewhere.example\r\n")]
    {
        let (head, body) = playground.ask("POST /ask", &headers, "{}");
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
        assert!(!body.contains("places"), "{body}");
    }
}

#[test]
fn a_port_that_is_taken_is_said() {
    let playground = Playground::start();
    let port = playground.host.split(':').nth(1).unwrap();
    let said = crate::tool::said(tool(Path::new(".")).args(["playground", "--port", port]));
    said.ends(2).complains("choose another one with --port");
}
