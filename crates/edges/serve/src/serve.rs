//! Serving applications as a weak level allows: an engine of our own, a proxy before it, and what is left in the end.

use crate::catalogue::{self, Purpose};
use crate::error::ServeError;
use crate::ledger::{Ledger, Origin, Output, Tally};
use crate::proxy::{Door, Proxy};
use crate::record::Start;
use crate::shared::{Shared, lock, word};
use crate::turn::Turn;
use crate::weak::{Login, Opaque, Updates, Weak};
use crate::wire::Place;
use iso_collect::{Administration, Target};
use iso_servers::{Kind, Server};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, Divergence, LEVELS, Policy};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// What to serve.
#[derive(Debug)]
pub struct ServeSetup {
    /// The level that reads and writes have.
    pub level: Level,
    /// Which of the versions that it allows are served.
    pub policy: Policy,
    /// For all choices.
    pub seed: u64,
    /// So many sessions run at once, if that is known.
    pub sessions: Option<usize>,
    /// Sessions in the order in which their transactions are to run, where that matters.
    pub order: VecDeque<String>,
    /// How long somebody who has the turn may say nothing.
    pub patience: Duration,
    /// SQL that makes the tables and their first rows.
    pub schema: Option<String>,
    /// The engine, if it is not to be one of our own.
    pub engine: Option<String>,
    /// Where applications connect, such as `127.0.0.1:5433`.
    pub listen: String,
    /// Where the history goes.
    pub target: Target,
    /// When the run begins.
    pub start: Start,
    /// What UPDATE and DELETE act on.
    pub updates: Updates,
    /// What becomes of statements whose reads are not seen.
    pub opaque: Opaque,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Served {
    /// The engine, without credentials.
    pub engine: String,
    /// How many of what.
    pub tally: Tally,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes that were written.
    pub bytes: u64,
    /// What did not work; the history up to then is there.
    pub failure: Option<String>,
    /// Tables whose rows cannot be told apart, and which are served as they are.
    pub without_key: Vec<String>,
    /// Where the run could not follow its plan.
    pub divergences: Vec<Divergence>,
    /// Sessions whose planned transactions did not come, one entry for each.
    pub never_came: Vec<String>,
}

/// A served database.
#[derive(Debug)]
pub struct Serving {
    proxy: Proxy,
    engine: String,
    /// Our own, which ends with the run.
    server: Option<Server>,
}

impl Deref for Serving {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

/// Who may connect to an engine of our own: whoever can enter its folder, and who knows its password.
const ACCESS: &str = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

impl Serving {
    /// Starts an engine, prepares it, and listens.
    pub fn start(setup: ServeSetup) -> Result<Self, ServeError> {
        let levels = || LEVELS.into_iter().chain(DATABASE_LEVELS);
        if !levels().any(|it| it == setup.level) {
            let known = levels().map(Level::short_name).collect::<Vec<&str>>().join(", ");
            return Err(ServeError::UnknownLevel { level: setup.level.short_name(), known });
        }
        if setup.updates == Updates::Weak && setup.level.is_of_databases() {
            return Err(ServeError::NewestOnly { level: setup.level.short_name() });
        }
        let door = Door::at(&setup.listen)?;
        let (server, url) = if let Some(url) = &setup.engine {
            (None, url.clone())
        } else {
            let settings = ["hba_file={folder}/access.conf", "max_connections=200", "synchronous_commit=off"];
            let server = Server::start_with(Kind::PostgreSql, &settings, &[("access.conf", ACCESS)])?;
            let url = server.url_of_socket();
            (Some(server), url)
        };
        let mut administration = Administration::open(&url)?;
        administration.claim()?;
        administration.run("SET lock_timeout = '10s'")?;
        if let Some(schema) = &setup.schema {
            administration.run(schema).map_err(ServeError::Schema)?;
        }
        let word = word();
        catalogue::install(&mut administration, &word)?;
        let login =
            server.is_some().then(|| Login { user: iso_servers::USER.to_owned(), database: "postgres".to_owned() });
        let turn = Turn::new(setup.sessions, setup.seed, setup.order.clone(), setup.patience);
        let weak = Weak::new(&setup, turn, login);
        let prepared = catalogue::attach(&mut administration, Purpose::Serve, &word);
        let mut catalogue = prepared.inspect_err(|_| drop(catalogue::remove(&mut administration)))?;
        weak.name_tables(&mut catalogue);
        let output = Output::open(setup.target).map_err(ServeError::Write)?;
        let engine = administration.describe();
        let origin = serde_json::json!({
            "made_by": "isoscope serve",
            "level": setup.level.short_name(),
            "policy": policy_name(&setup.policy),
            "seed": setup.seed,
            "updates": if setup.updates == Updates::Weak { "weak" } else { "newest" },
        });
        let level = setup.level.short_name();
        let ledger = Ledger::new(output, Origin::Serve { level, origin, opaque: setup.opaque }, engine.clone());
        let place = Place::of(&administration);
        let shared = Arc::new(Shared::new(place, ledger, word, administration, catalogue, Some(weak)));
        if let (Start::AtOnce, Some(weak)) = (setup.start, &shared.weak) {
            shared.start_weak(weak)?;
        }
        Ok(Self { proxy: door.open(shared), engine, server })
    }

    /// The engine, without credentials.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The address of our own engine, if there is one: whoever asks there sees the newest state.
    pub fn engine_url(&self) -> Option<String> {
        self.server.as_ref().map(Server::url_of_socket)
    }

    /// The process of our own engine, if there is one.
    pub fn engine_process(&self) -> Option<u32> {
        self.server.as_ref().map(Server::process)
    }

    /// Ends all connections and the engine, and completes the history.
    pub fn end(mut self) -> Result<Served, ServeError> {
        let elapsed = self.proxy.end();
        if self.server.is_none() {
            let mut administration = lock(&self.shared.administration);
            if let Err(failure) = catalogue::remove(&mut administration) {
                let left =
                    "what was put into the engine is left behind; DROP SCHEMA isoscope_recording CASCADE removes it";
                self.shared.complain(format!("{failure}: {left}"));
            }
        } else if self.server.as_mut().is_some_and(Server::has_ended) {
            self.shared.complain("the engine ended before the run did".to_owned());
        }
        drop(self.server.take());
        let mut troubles = std::mem::take(&mut *lock(&self.shared.troubles));
        troubles.sort();
        let bytes = self.shared.ledger.end(BTreeMap::new(), troubles.is_empty()).map_err(ServeError::Write)?;
        let catalogue = self.shared.catalogue();
        let unkeyed = catalogue.tables().iter().filter(|it| !it.has_key());
        let weak = self.shared.weak.as_ref();
        let state = weak.map(Weak::state);
        let divergences = state.as_ref().and_then(|it| it.as_ref()).map(|it| it.store().divergences().to_vec());
        Ok(Served {
            engine: self.engine.clone(),
            tally: self.shared.ledger.tally(),
            elapsed,
            bytes,
            failure: (!troubles.is_empty()).then(|| troubles.join("; ")),
            without_key: unkeyed.map(|it| it.shown.clone()).collect(),
            divergences: divergences.unwrap_or_default(),
            never_came: weak.map(|it| it.turn.left()).unwrap_or_default(),
        })
    }
}

fn policy_name(policy: &Policy) -> &'static str {
    match policy {
        Policy::Latest => "latest",
        Policy::Random => "random",
        Policy::Adversarial => "adversarial",
        Policy::Replay(_) => "replay",
    }
}
