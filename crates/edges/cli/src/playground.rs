//! The playground: a page that asks as you type, and a server for it on this machine only.
//!
//! The server speaks as much HTTP as a browser needs for one page: a request, an answer, and the connection is closed. It
//! listens on the loopback address, answers nobody who came by another name, and keeps nothing.

mod answer;
mod http;

pub use answer::{answer, examples, levels};

use crate::output;
use http::{Request, Response};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const PAGE: &str = include_str!("playground/page.html");
const STYLE: &str = include_str!("playground/page.css");
const SCRIPT: &str = include_str!("playground/page.js");

/// Whoever says nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that listens.
#[derive(Debug)]
pub(crate) struct Playground {
    listener: TcpListener,
    port: u16,
    policy: String,
}

impl Playground {
    /// Listens on a port, or on any free one if it is 0.
    pub(crate) fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        // An answer is a page with its own script, in a frame that obeys the policy of both.
        let policy = format!(
            "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' '{}'; connect-src 'self'; \
             img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            answer::script_hash()
        );
        Ok(Self { listener, port, policy })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Serves until the process ends.
    pub(crate) fn serve(&self) {
        thread::scope(|scope| {
            for stream in self.listener.incoming() {
                match stream {
                    Ok(stream) => {
                        scope.spawn(move || self.answer(&stream));
                    }
                    Err(error) => output::complain(&format!("a connection failed: {error}")),
                }
            }
        });
    }

    fn answer(&self, stream: &TcpStream) {
        let is_set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        let response = match is_set.and_then(|()| http::read(stream)) {
            Ok(request) => self.respond(&request),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Response::refusal(400, &error.to_string()),
            // Nobody is there to hear it.
            Err(_) => return,
        };
        http::write(stream, &response, &self.policy).ok();
    }

    fn respond(&self, request: &Request) -> Response {
        if !self.is_for_us(request) {
            return Response::refusal(403, "this playground answers its own page only");
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => Response::text("text/html", PAGE),
            ("GET", "/page.css") => Response::text("text/css", STYLE),
            ("GET", "/page.js") => Response::text("text/javascript", SCRIPT),
            ("GET", "/examples.json") => Response::text("application/json", &examples()),
            ("GET", "/levels.json") => Response::text("application/json", &levels()),
            ("POST", "/ask") => Response::text("application/json", &answer(&request.body)),
            _ => Response::refusal(404, "there is nothing here"),
        }
    }

    /// Did the request come to this machine by its own name, and from our page? Other pages in the same browser can send
    /// requests here, and names of other machines can lead here.
    fn is_for_us(&self, request: &Request) -> bool {
        let names = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_host = request.host.as_ref().is_some_and(|it| names.contains(it));
        let is_origin = |it: &String| names.iter().any(|name| *it == format!("http://{name}"));
        is_host && request.origin.as_ref().is_none_or(is_origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, origin: Option<&str>) -> Request {
        Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            host: Some(host.to_owned()),
            origin: origin.map(str::to_owned),
            body: String::new(),
        }
    }

    #[test]
    fn only_our_page_on_this_machine_is_answered() {
        let playground = Playground::listen(0).unwrap();
        let own = format!("127.0.0.1:{}", playground.port);
        assert_eq!(playground.respond(&request(&own, None)).status, 200);
        assert_eq!(playground.respond(&request(&own, Some(&format!("http://{own}")))).status, 200);
        assert_eq!(playground.respond(&request(&own, Some("https://elsewhere.example"))).status, 403);
        assert_eq!(playground.respond(&request("elsewhere.example", None)).status, 403);
    }
}
