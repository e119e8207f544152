//! Several nodes of one database: sessions are placed on them in turns, and stay where they are.

use crate::opening::Opening;
use crate::{Client, Database, Dialect, Failure, Inserts, OpenError, Preview, Table, Value};
use iso_formats::RecordedDatabase;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long other nodes may take until they have the tables and rows of a set-up.
const CATCHING_UP: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Several nodes. The first one makes the tables.
#[derive(Debug)]
pub(crate) struct Endpoints {
    nodes: Vec<Box<dyn Database>>,
    names: Vec<String>,
    place: Vec<usize>,
    n_sessions: AtomicUsize,
}

impl Endpoints {
    /// These nodes, with their names.
    pub(crate) fn new(nodes: Vec<Box<dyn Database>>, names: Vec<String>, opening: &Opening) -> Result<Self, OpenError> {
        if let Some(wrong) = opening.place.iter().find(|it| **it >= nodes.len()) {
            let message = format!("there is no node {} to place a session on; there are {}", wrong + 1, nodes.len());
            return Err(OpenError::NoSuchDatabase { message });
        }
        let place = if opening.place.is_empty() { (0..nodes.len()).collect() } else { opening.place.clone() };
        Ok(Self { nodes, names, place, n_sessions: AtomicUsize::new(0) })
    }

    fn first(&self) -> &dyn Database {
        &*self.nodes[0]
    }

    /// Waits until all nodes have what the first one has.
    fn catch_up(&self) -> Result<(), Failure> {
        let position = self.first().position()?;
        let until = Instant::now() + CATCHING_UP;
        for (node, name) in self.nodes.iter().zip(&self.names).skip(1) {
            while !matches!(node.has_reached(position.as_deref()), Ok(true)) {
                if Instant::now() >= until {
                    let seconds = CATCHING_UP.as_secs();
                    let what = format!("the node {name} does not have what the first one has after {seconds} s");
                    return Err(Failure::broken(what));
                }
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

impl Database for Endpoints {
    fn describe(&self) -> String {
        format!("{}, {} nodes ({})", self.first().describe(), self.nodes.len(), self.names.join(", "))
    }

    fn isolations(&self) -> &'static [&'static str] {
        self.first().isolations()
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.first().set_up(tables)?;
        self.catch_up()
    }

    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        self.first().load(rows)?;
        self.catch_up()
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.first().tear_down()
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        self.connect_as(isolation, self.n_sessions.fetch_add(1, Ordering::Relaxed))
    }

    fn connect_as(&self, isolation: &str, session: usize) -> Result<Box<dyn Client + Send>, Failure> {
        self.nodes[self.node_of(session)].connect(isolation)
    }

    /// The first node may lag behind what others have acknowledged.
    fn connect_to_read(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        self.first().has_reached(None)?;
        self.first().connect_to_read(isolation)
    }

    fn nodes(&self) -> Vec<String> {
        self.names.clone()
    }

    fn placement(&self) -> Vec<usize> {
        self.place.clone()
    }

    fn node_of(&self, session: usize) -> usize {
        self.place[session % self.place.len()]
    }

    fn identity(&self) -> Option<RecordedDatabase> {
        let mut identity = self.first().identity()?;
        identity.settings.push(("nodes".to_owned(), self.nodes.len().to_string()));
        Some(identity)
    }

    fn dialect(&self) -> Dialect {
        self.first().dialect()
    }

    fn inserts(&self) -> Inserts {
        self.first().inserts()
    }

    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        let mut preview = self.first().inspect(tables, sessions)?;
        let placed: Vec<&str> = self.place.iter().map(|it| self.names[*it].as_str()).collect();
        preview.remarks.push(format!("sessions are placed in turns on {}", placed.join(", ")));
        Ok(preview)
    }
}

/// The addresses of the nodes, each with its name, if an address has several hosts: `mysql://u@h1:1,h2:2/db`.
pub(crate) fn split(url: &str) -> Vec<(String, String)> {
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    if !["postgres", "postgresql", "mysql", "mariadb"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (login, hosts) =
        authority.rsplit_once('@').map_or((String::new(), authority), |it| (format!("{}@", it.0), it.1));
    let hosts: Vec<&str> = hosts.split(',').map(str::trim).collect();
    if hosts.len() < 2 {
        return Vec::new();
    }
    hosts.into_iter().map(|host| (format!("{scheme}://{login}{host}{path}"), host.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_several_hosts_is_one_for_each() {
        let urls: Vec<String> = split("mysql://u:p@h1:1,h2:2,[::1]:3/db?x=1").into_iter().map(|it| it.0).collect();
        assert_eq!(urls, ["mysql://u:p@h1:1/db?x=1", "mysql://u:p@h2:2/db?x=1", "mysql://u:p@[::1]:3/db?x=1"]);
        assert!(split("mysql://u@h1:1/a,b").is_empty() && split("sqlite:a,b").is_empty());
        assert_eq!(split("postgres://a,b")[1], ("postgres://b".to_owned(), "b".to_owned()));
    }
}
