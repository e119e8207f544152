//! Drivers and frameworks that people use, each through `serve` and through `record`: they see what they always see.

use crate::honesty::PYTHON;
use crate::served::{self, can_serve};
use crate::stage::{Stage, client, psql, said, server};
use iso_answer::check as decide;
use iso_answer::check::Answer;
use iso_evidence::Budget;
use iso_history::History;
use iso_serve::{Start, Tally};
use iso_spec::Level;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that works with the accounts, in some language.
struct Driver {
    /// What it is written with.
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    file: &'static str,
    /// What there must be: a command that ends well if it is.
    needs: &'static [&'static str],
}

const DRIVERS: [Driver; 6] = [
    Driver {
        name: "SQLAlchemy",
        program: PYTHON,
        arguments: &[],
        file: "with_sqlalchemy.py",
        needs: &[PYTHON, "-c", "import sqlalchemy, psycopg2"],
    },
    Driver {
        name: "SQLAlchemy with asyncpg",
        program: PYTHON,
        arguments: &[],
        file: "with_sqlalchemy_async.py",
        needs: &[PYTHON, "-c", "import sqlalchemy, asyncpg, greenlet"],
    },
    Driver {
        name: "Django",
        program: PYTHON,
        arguments: &[],
        file: "with_django.py",
        needs: &[PYTHON, "-c", "import django, psycopg2"],
    },
    Driver {
        name: "node-postgres",
        program: "node",
        arguments: &[],
        file: "with_node_postgres.js",
        needs: &["node", "-e", "require('pg'); require('pg-cursor')"],
    },
    Driver {
        name: "TypeORM",
        program: "node",
        arguments: &[],
        file: "with_typeorm.js",
        needs: &["node", "-e", "require('pg'); require('typeorm'); require('reflect-metadata')"],
    },
    Driver {
        name: "JDBC",
        program: "java",
        arguments: &["-cp", JDBC],
        file: "WithJdbc.java",
        needs: &["sh", "-c", "test -f /usr/share/java/postgresql.jar && javac -version"],
    },
];

/// Debian's.
const JDBC: &str = "/usr/share/java/postgresql.jar";

const ACCOUNTS: &str = "DROP TABLE IF EXISTS notes, accounts;
    CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance int);
    INSERT INTO accounts SELECT n, CASE n % 2 WHEN 0 THEN 'ann' ELSE 'bob' END, 100 FROM generate_series(0, 5) n";

/// What each of them prints: a session sees its own writes at every level that is served here.
const SAID: &str = "100 3 7 605 0,2,3,4,5 True 7 606\n";

/// Where `cargo xtask setup` puts packages for Node.
fn node_modules() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients").join("node_modules")
}

impl Driver {
    /// Is it installed? If not, that is said; `cargo xtask test` installs it where it can, and then asks for it.
    fn is_there(&self) -> bool {
        let mut command = Command::new(self.needs[0]);
        command.args(&self.needs[1..]).env("NODE_PATH", node_modules());
        let is_there = command.output().is_ok_and(|it| it.status.success());
        let name = self.name;
        assert!(is_there || std::env::var_os("ISOSCOPE_SERVERS").is_none(), "{name} is not installed");
        if !is_there {
            eprintln!("skipped: {name} is not installed");
        }
        is_there
    }

    /// `cursors` says whose they are, where that can be chosen.
    fn run(&self, port: u16, cursors: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/clients").join(self.file);
        let mut command = client(self.program, port, self.arguments);
        command.arg(file).env("NODE_PATH", node_modules()).env("PYTHONDONTWRITEBYTECODE", "1").env("CURSORS", cursors);
        said(command)
    }
}

fn assert_kept(name: &str, tally: &Tally, history: &History, level: Level) {
    assert!(tally.committed >= 5 && tally.unknown == 0, "{name}: {tally:?}");
    // What a LIMIT leaves open is not known; everything else is.
    let is_limit = |why: &String| why.starts_with("rows that did not match are not recorded");
    assert!(tally.missing.keys().all(is_limit), "{name}: {tally:?}");
    let answer = decide(history, level, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{name}: {answer:?}");
}

#[test]
fn drivers_and_frameworks_are_served_weakly() {
    if !can_serve() {
        return;
    }
    for driver in DRIVERS.iter().filter(|it| it.is_there()) {
        let stage = served::Stage::new(served::setup(Level::CausalConsistency, ACCOUNTS));
        let heard = driver.run(stage.port(), "of the server");
        let (served, _, history) = stage.end();
        assert_eq!((heard.as_str(), served.failure), (SAID, None), "{}", driver.name);
        assert_kept(driver.name, &served.tally, &history, Level::CausalConsistency);
    }
}

#[test]
fn drivers_and_frameworks_are_recorded() {
    let Some(server) = server() else { return };
    for driver in DRIVERS.iter().filter(|it| it.is_there()) {
        psql(server.port(), ACCOUNTS);
        let stage = Stage::new(&server, Start::AtOnce);
        let heard = driver.run(stage.port(), "of the client");
        let (recorded, _, history) = stage.end();
        assert_eq!((heard.as_str(), recorded.failure), (SAID, None), "{}", driver.name);
        assert_kept(driver.name, &recorded.tally, &history, Level::StatementSnapshots);
    }
}
