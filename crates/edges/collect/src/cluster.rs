//! Databases that are started for the run: `galera:3`, `postgres:1+1`, `mariadb:1`. They end with it.

use crate::endpoints::Endpoints;
use crate::faults::{Fault, Faulty};
use crate::opening::Opening;
use crate::{Client, Database, Dialect, Failure, Inserts, OpenError, Preview, Table, Value, open_with};
use iso_formats::RecordedDatabase;
use iso_servers::{Cluster, Topology};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Nodes that are cut off from each other notice it after some seconds.
const NOTICED: Duration = Duration::from_secs(8);

/// Servers that were started, and the connections to them.
#[derive(Debug)]
pub(crate) struct StartedCluster {
    // Connections end before the servers do.
    inner: Box<dyn Database>,
    names: Vec<String>,
    topology: Topology,
    settings: Vec<String>,
    cluster: Mutex<Cluster>,
    n_cuts: AtomicUsize,
}

/// Starts the servers of an address such as `galera:3`; none if it is another address.
pub(crate) fn open(url: &str, opening: &Opening) -> Option<Result<StartedCluster, OpenError>> {
    let topology = Topology::parse(url)?;
    Some(topology.map_err(|message| OpenError::NoSuchDatabase { message }).and_then(|it| start(it, opening)))
}

fn start(topology: Topology, opening: &Opening) -> Result<StartedCluster, OpenError> {
    let unreachable = |reason: String| OpenError::Unreachable { place: topology.to_string(), reason };
    if let Some(wrong) = opening.server_settings.iter().find(|it| !it.contains('=')) {
        return Err(unreachable(format!("`{wrong}` is no setting; write NAME=VALUE")));
    }
    let cluster = Cluster::start(topology, &opening.server_settings).map_err(|it| unreachable(it.to_string()))?;
    let names = cluster.names();
    let url = cluster.url();
    let inner: Box<dyn Database> = match crate::endpoints::split(&url) {
        nodes if nodes.is_empty() => open_with(&url, opening)?,
        nodes => {
            let each = nodes.iter().map(|it| open_with(&it.0, opening)).collect::<Result<Vec<_>, _>>()?;
            Box::new(Endpoints::new(each, names.clone(), opening)?)
        }
    };
    let settings = opening.server_settings.clone();
    Ok(StartedCluster { inner, names, topology, settings, cluster: Mutex::new(cluster), n_cuts: AtomicUsize::new(0) })
}

impl StartedCluster {
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for StartedCluster {
    fn describe(&self) -> String {
        let settings =
            if self.settings.is_empty() { String::new() } else { format!(" with {}", self.settings.join(", ")) };
        let title = self.inner.identity().map_or_else(
            || "a database".to_owned(),
            |it| format!("{} {}", it.name, it.version.unwrap_or_default()).trim().to_owned(),
        );
        format!("{} ({title}), started for this run{settings}", self.topology)
    }

    fn isolations(&self) -> &'static [&'static str] {
        self.inner.isolations()
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.inner.set_up(tables)
    }

    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        self.inner.load(rows)
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.inner.tear_down()
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        self.inner.connect(isolation)
    }

    fn connect_as(&self, isolation: &str, session: usize) -> Result<Box<dyn Client + Send>, Failure> {
        self.inner.connect_as(isolation, session)
    }

    fn connect_to_read(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        self.inner.connect_to_read(isolation)
    }

    fn nodes(&self) -> Vec<String> {
        self.names.clone()
    }

    fn placement(&self) -> Vec<usize> {
        // A single node knows of none.
        let placed = self.inner.placement();
        if placed.is_empty() { vec![0] } else { placed }
    }

    fn node_of(&self, session: usize) -> usize {
        self.inner.node_of(session)
    }

    fn position(&self) -> Result<Option<String>, Failure> {
        self.inner.position()
    }

    fn has_reached(&self, position: Option<&str>) -> Result<bool, Failure> {
        self.inner.has_reached(position)
    }

    fn identity(&self) -> Option<RecordedDatabase> {
        let mut identity = self.inner.identity()?;
        identity.settings.extend(self.settings.iter().filter_map(|it| {
            let (name, value) = it.split_once('=')?;
            (name != "innodb_snapshot_isolation").then(|| (name.trim().to_owned(), value.trim().to_owned()))
        }));
        Some(identity)
    }

    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn inserts(&self) -> Inserts {
        self.inner.inserts()
    }

    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        self.inner.inspect(tables, sessions)
    }

    fn faults(&self) -> Option<&dyn Faulty> {
        Some(self)
    }
}

impl Faulty for StartedCluster {
    fn n_nodes(&self) -> usize {
        self.names.len()
    }

    fn possible(&self) -> Vec<Fault> {
        Fault::ALL.to_vec()
    }

    fn inflict(
        &self,
        fault: Fault,
        node: usize,
        lasting: Duration,
        note: &mut dyn FnMut(&str, Option<usize>),
    ) -> Result<(), Failure> {
        let broken =
            |error: iso_servers::StartError| Failure::broken(format!("after the fault {}: {error}", fault.name()));
        let mut cluster = self.cluster();
        match fault {
            Fault::Kill => {
                note("kill", Some(node));
                cluster.kill(node).map_err(broken)?;
                thread::sleep(lasting);
                cluster.revive(node).map_err(broken)?;
                note("revived", Some(node));
            }
            Fault::KillAll => {
                note("kill-all", None);
                cluster.kill_all().map_err(broken)?;
                thread::sleep(lasting);
                cluster.revive_all().map_err(broken)?;
                note("revived", None);
            }
            Fault::Stop => {
                note("stop", Some(node));
                cluster.stop(node);
                thread::sleep(lasting);
                cluster.go_on(node);
                note("goes-on", Some(node));
            }
            Fault::Restart => {
                for node in 0..self.n_nodes() {
                    note("restart", Some(node));
                    cluster.restart(node).map_err(broken)?;
                    note("restarted", Some(node));
                }
            }
            // Where there are other nodes, a node loses these and its clients in turns.
            Fault::Cut if cluster.has_links() && self.n_cuts.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => {
                note("cut-from-nodes", Some(node));
                cluster.cut_links(node).map_err(broken)?;
                thread::sleep(lasting.max(NOTICED));
                cluster.heal_links(node).map_err(broken)?;
                note("healed", Some(node));
            }
            Fault::Cut => {
                note("cut-from-clients", Some(node));
                cluster.cut_clients(node);
                thread::sleep(lasting);
                cluster.heal_clients(node);
                note("healed", Some(node));
            }
        }
        Ok(())
    }
}
