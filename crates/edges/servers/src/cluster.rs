//! Clusters of throw-away servers, and what can be done to their nodes: killed, stopped, cut off, started again.

use crate::kind::Kind;
use crate::proxy::Proxy;
use crate::system::chown;
use crate::{PASSWORD, PATIENCE, Server, StartError, USER, free_port, launch, programs};
use std::fmt;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian has the library that makes a cluster of `MariaDB`.
const GALERA: [&str; 3] =
    ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/libgalera_smm.so"];
/// More nodes on one machine are of no use.
const MAX_NODES: usize = 7;

/// Which servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One `PostgreSQL`, and standbys that follow it and can be read.
    PostgreSql {
        /// How many.
        standbys: usize,
    },
    /// One `MariaDB`.
    MariaDb,
    /// Nodes of Galera, each of which can be written.
    Galera {
        /// How many.
        nodes: usize,
    },
}

impl Topology {
    /// Reads `galera:3`, `postgres:1`, `postgres:1+1` and `mariadb:1`. None if it is nothing of that kind; an error says what is
    /// wrong.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (kind, size) = text.trim().split_once(':')?;
        let (first, standbys) = size.split_once('+').unwrap_or((size, "0"));
        let (first, standbys): (usize, usize) = (first.parse().ok()?, standbys.parse().ok()?);
        let fits = |most: usize| first == 1 && standbys <= most;
        Some(match kind {
            "galera" if standbys == 0 && (1..=MAX_NODES).contains(&first) => Ok(Self::Galera { nodes: first }),
            "galera" => Err(format!("a cluster is galera:1 to galera:{MAX_NODES}")),
            "postgres" | "postgresql" if fits(MAX_NODES - 1) => Ok(Self::PostgreSql { standbys }),
            "postgres" | "postgresql" => {
                Err("PostgreSQL is postgres:1, or with standbys postgres:1+1, postgres:1+2 and so on".to_owned())
            }
            "mariadb" if fits(0) => Ok(Self::MariaDb),
            "mariadb" => Err("one MariaDB is mariadb:1; several that are one database are galera:3".to_owned()),
            _ => return None,
        })
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PostgreSql { standbys: 0 } => f.write_str("postgres:1"),
            Self::PostgreSql { standbys } => write!(f, "postgres:1+{standbys}"),
            Self::MariaDb => f.write_str("mariadb:1"),
            Self::Galera { nodes } => write!(f, "galera:{nodes}"),
        }
    }
}

/// Servers that run.
#[derive(Debug)]
pub struct Cluster {
    topology: Topology,
    nodes: Vec<Server>,
    /// Before each node, for its clients.
    doors: Vec<Proxy>,
    /// Before the first node, for those that follow it.
    log: Option<Proxy>,
}

impl Cluster {
    /// Starts the servers, with settings such as `innodb_flush_log_at_trx_commit=0` for each of them.
    pub fn start(topology: Topology, settings: &[String]) -> Result<Self, StartError> {
        let durable: &[&str] = match topology {
            // A server that is killed keeps what it gave to the operating system, which is enough here.
            Topology::PostgreSql { .. } => &["max_connections=200", "deadlock_timeout=100ms"],
            Topology::MariaDb | Topology::Galera { .. } => &["innodb_flush_log_at_trx_commit=1", "max_connections=300"],
        };
        let all: Vec<String> = durable.iter().map(|it| (*it).to_owned()).chain(settings.iter().cloned()).collect();
        let each: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut log = None;
        let nodes = match topology {
            Topology::MariaDb => vec![Server::start(Kind::MariaDb, &each)?],
            Topology::PostgreSql { standbys } => {
                let first = Server::start(Kind::PostgreSql, &each)?;
                let proxy = proxy_before(&first)?;
                let mut nodes = vec![first];
                for _ in 0..standbys {
                    nodes.push(nodes[0].standby_through(proxy.port())?);
                }
                log = Some(proxy);
                nodes
            }
            Topology::Galera { nodes } => galera(nodes, &all)?,
        };
        let doors = nodes.iter().map(proxy_before).collect::<Result<_, _>>()?;
        Ok(Self { topology, nodes, doors, log })
    }

    /// The address of all nodes, through a proxy each.
    pub fn url(&self) -> String {
        let kind = self.nodes[0].kind;
        let places: Vec<String> = self.doors.iter().map(|it| format!("127.0.0.1:{}", it.port())).collect();
        format!("{}://{USER}:{PASSWORD}@{}/{}", kind.scheme(), places.join(","), kind.database())
    }

    /// What the nodes are called, in their order.
    pub fn names(&self) -> Vec<String> {
        (1..=self.nodes.len()).map(|it| format!("n{it}")).collect()
    }

    /// What it is.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// The processes of the nodes.
    pub fn processes(&self) -> Vec<u32> {
        self.nodes.iter().map(Server::process).collect()
    }

    /// Ends a node at once, as a crash would.
    pub fn kill(&mut self, node: usize) -> Result<(), StartError> {
        let kind = self.nodes[node].kind;
        self.nodes[node].kill().map(drop).map_err(|it| failed(kind, it.to_string()))
    }

    /// Starts a node again that was killed, and waits until it takes part.
    pub fn revive(&mut self, node: usize) -> Result<(), StartError> {
        match self.topology {
            Topology::Galera { .. } => {
                let position = recovered(&self.nodes[node])?;
                self.launch_galera(node, &position, Role::Joins)
            }
            _ => self.nodes[node].restart(),
        }
    }

    /// Ends all nodes at once.
    pub fn kill_all(&mut self) -> Result<(), StartError> {
        // All of them stop first, so that none hears of the others' end.
        for pid in self.processes() {
            programs::signal("-STOP", &[pid]);
        }
        (0..self.nodes.len()).try_for_each(|it| self.kill(it))
    }

    /// Starts all nodes again after [`Self::kill_all`].
    pub fn revive_all(&mut self) -> Result<(), StartError> {
        let Topology::Galera { nodes } = self.topology else {
            return (0..self.nodes.len()).try_for_each(|it| self.nodes[it].restart());
        };
        let positions = self.nodes.iter().map(recovered).collect::<Result<Vec<_>, _>>()?;
        let first = (0..nodes).max_by_key(|it| (positions[*it].seqno, nodes - it)).unwrap_or_default();
        self.launch_galera(first, &positions[first], Role::Begins)?;
        for node in (0..nodes).filter(|it| *it != first) {
            self.launch_galera(node, &positions[node], Role::Joins)?;
        }
        Ok(())
    }

    /// Ends a node in its own time, and starts it again.
    pub fn restart(&mut self, node: usize) -> Result<(), StartError> {
        self.nodes[node].end();
        match self.topology {
            Topology::Galera { .. } => {
                let position = recovered(&self.nodes[node])?;
                self.launch_galera(node, &position, Role::Joins)
            }
            _ => self.nodes[node].restart(),
        }
    }

    /// A node does nothing any more until [`Self::go_on`].
    pub fn stop(&self, node: usize) {
        programs::signal("-STOP", &self.family(node));
    }

    /// A node that was stopped goes on.
    pub fn go_on(&self, node: usize) {
        programs::signal("-CONT", &self.family(node));
    }

    fn family(&self, node: usize) -> Vec<u32> {
        let pid = self.nodes[node].process();
        std::iter::once(pid).chain(programs::children_of(pid)).collect()
    }

    /// Ends the connections of a node's clients, and lets none in.
    pub fn cut_clients(&self, node: usize) {
        self.doors[node].cut();
    }

    /// Lets clients in again.
    pub fn heal_clients(&self, node: usize) {
        self.doors[node].heal();
    }

    /// Can the nodes be cut off from each other?
    pub fn has_links(&self) -> bool {
        self.nodes.len() > 1
    }

    /// Cuts a node off from the others. Of `PostgreSQL`, no standby hears from the first node any more.
    pub fn cut_links(&self, node: usize) -> Result<(), StartError> {
        match (&self.topology, &self.log) {
            (Topology::Galera { .. }, _) => self.isolate(node, 1),
            (_, Some(log)) => {
                log.cut();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Lets it hear from the others again.
    pub fn heal_links(&self, node: usize) -> Result<(), StartError> {
        match (&self.topology, &self.log) {
            (Topology::Galera { .. }, _) => self.isolate(node, 0),
            (_, Some(log)) => {
                log.heal();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Galera can leave the others by itself, for tests like this.
    fn isolate(&self, node: usize, on: u8) -> Result<(), StartError> {
        let sql = format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={on}'");
        ask(&self.nodes[node], &sql).map(drop).map_err(|it| failed(Kind::MariaDb, it))
    }

    fn launch_galera(&mut self, node: usize, position: &Position, role: Role) -> Result<(), StartError> {
        let server = &mut self.nodes[node];
        let mut settings = server.settings.clone();
        settings.push(format!("wsrep_start_position={}:{}", position.uuid, position.seqno));
        if role == Role::Begins {
            let file = server.folder.path().join("data/grastate.dat");
            let text = fs::read_to_string(&file).unwrap_or_default();
            let text = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
            fs::write(&file, text).map_err(|it| failed(Kind::MariaDb, it.to_string()))?;
            settings.push("wsrep-new-cluster".to_owned());
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match launch(Kind::MariaDb, server.folder.path(), server.port, &settings) {
                Ok(process) => {
                    server.is_now(process);
                    break;
                }
                Err(reason) if Instant::now() > until => return Err(failed(Kind::MariaDb, reason)),
                Err(_) => thread::sleep(Duration::from_millis(500)),
            }
        }
        wait_until_ready(server)
    }
}

/// How a node of Galera is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// As the first one of the cluster.
    Begins,
    /// It asks the others for what it lacks.
    Joins,
}

/// What a node of Galera had written when it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    uuid: String,
    seqno: i64,
}

fn failed(kind: Kind, reason: String) -> StartError {
    StartError::Failed { kind, reason }
}

fn proxy_before(server: &Server) -> Result<Proxy, StartError> {
    Proxy::start(server.port).map_err(|it| failed(server.kind, it.to_string()))
}

/// Starts nodes of Galera, one after the other.
fn galera(n_nodes: usize, settings: &[String]) -> Result<Vec<Server>, StartError> {
    let kind = Kind::MariaDb;
    kind.programs()?;
    let missing = StartError::Missing { program: "libgalera_smm.so", package: "galera-4" };
    let provider = GALERA.iter().find(|it| fs::exists(it).unwrap_or(false)).ok_or(missing)?;
    programs::find("rsync", "rsync")?;
    let mut links = Vec::new();
    for _ in 0..n_nodes {
        links.push(free_port().map_err(|it| failed(kind, it))?);
    }
    let members: Vec<String> = links.iter().map(|it| format!("127.0.0.1:{it}")).collect();
    let mut nodes: Vec<Server> = Vec::new();
    for (nth, link) in links.iter().enumerate() {
        let fail = |reason: String| failed(kind, reason);
        let folder = TempDir::with_prefix("isoscope-galera-").map_err(|it| fail(it.to_string()))?;
        if let Some((user, group)) = programs::other_user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|it| fail(it.to_string()))?;
        }
        kind.initialize(folder.path()).map_err(fail)?;
        if nth > 0 {
            // The others have the user from the first one.
            fs::write(folder.path().join("init.sql"), "SELECT 1;\n").map_err(|it| fail(it.to_string()))?;
        }
        let (port, incremental, whole) =
            (free_port().map_err(fail)?, free_port().map_err(fail)?, free_port().map_err(fail)?);
        let mut own: Vec<String> = [
            "binlog-format=ROW".to_owned(),
            "innodb-autoinc-lock-mode=2".to_owned(),
            "wsrep-on=ON".to_owned(),
            format!("wsrep-provider={provider}"),
            "wsrep-cluster-name=isoscope".to_owned(),
            format!("wsrep-cluster-address=gcomm://{}", members.join(",")),
            format!("wsrep-node-address=127.0.0.1:{link}"),
            format!("wsrep-node-name=n{}", nth + 1),
            "wsrep-sst-method=rsync".to_owned(),
            format!("wsrep-sst-receive-address=127.0.0.1:{whole}"),
            // Nodes of one machine hear of each other's end soon.
            format!(
                "wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{link};ist.recv_addr=127.0.0.1:{incremental};\
                 gcache.size=32M;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S;evs.install_timeout=PT5S"
            ),
        ]
        .into();
        own.extend(settings.iter().cloned());
        let mut first = own.clone();
        if nth == 0 {
            first.push("wsrep-new-cluster".to_owned());
        }
        let process = launch(kind, folder.path(), port, &first).map_err(fail)?;
        let server = Server::watched(kind, folder, port, own, process);
        wait_until_ready(&server)?;
        nodes.push(server);
    }
    Ok(nodes)
}

/// Waits until a node of Galera takes statements.
fn wait_until_ready(server: &Server) -> Result<(), StartError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask(server, "SELECT COUNT(*) FROM mysql.user") {
            Ok(_) => return Ok(()),
            Err(reason) if Instant::now() > until => return Err(failed(server.kind, reason)),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// What a node had written when it ended.
fn recovered(server: &Server) -> Result<Position, StartError> {
    let kind = server.kind;
    let mut settings = server.settings.clone();
    settings.push("wsrep-recover".to_owned());
    let until = Instant::now() + PATIENCE;
    loop {
        let mut process = kind.launch(server.folder.path(), server.port, &settings).map_err(|it| failed(kind, it))?;
        let ended = process.wait().is_ok_and(|it| it.success());
        let log = fs::read(server.folder.path().join(crate::kind::LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let position = log.rsplit_once("Recovered position: ").and_then(|it| {
            let (uuid, seqno) = it.1.lines().next()?.trim().split_once(':')?;
            Some(Position { uuid: uuid.to_owned(), seqno: seqno.split(',').next()?.trim().parse().ok()? })
        });
        match position.filter(|_| ended) {
            Some(position) => return Ok(position),
            // A node that was just killed may hold its files for a moment.
            None if Instant::now() < until => thread::sleep(Duration::from_millis(300)),
            None => return Err(failed(kind, "its position in the cluster cannot be recovered".to_owned())),
        }
    }
}

/// Asks a node of Galera something.
fn ask(server: &Server, sql: &str) -> Result<String, String> {
    let program = programs::find("mariadb", "mariadb-client").map_err(|it| it.to_string())?;
    let mut ask = std::process::Command::new(program);
    let (port, user) = (server.port.to_string(), format!("--user={USER}"));
    ask.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port", &port, &user, "-N", "-e", sql]);
    ask.args(["--connect-timeout=5"]).env("MYSQL_PWD", PASSWORD).stdin(Stdio::null());
    let output = ask.output().map_err(|it| it.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_cluster_is_told_from_addresses() {
        let read = |text: &str| Topology::parse(text).map(|it| it.map(|it| it.to_string()));
        for text in ["galera:3", "postgres:1", "postgres:1+1", "mariadb:1"] {
            assert_eq!(read(text), Some(Ok(text.to_owned())));
        }
        for wrong in ["galera:0", "galera:9", "galera:3+1", "postgres:2", "mariadb:3", "mariadb:1+1"] {
            assert!(matches!(read(wrong), Some(Err(_))), "{wrong}");
        }
        for other in ["postgres://h/x", "mysql:1", "sqlite:3", "galera:many", "store:si"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
