//! `cargo xtask setup`: installs the system's packages that building and testing need, and says so before.

use anyhow::{Result, bail};
use iso_servers::{Kind, is_installed, is_pooler_installed};
use std::process::Command;
use std::{env, fs};
use xtask::root;
use xtask::system::{exists, install_debian_packages, run, succeeds};

/// Something that building or testing needs from the system.
pub(crate) struct Need {
    /// What Debian calls its package.
    package: &'static str,
    why: &'static str,
    pub(crate) part: Part,
    is_there: fn() -> bool,
}

/// What does not work without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Anything.
    Build,
    /// Tests with database servers.
    Servers,
    /// Tests of pages in a browser.
    Pages,
    /// Tests of the Python package.
    Python,
}

const NEEDS: [Need; 17] = [
    Need { package: "g++", why: "compiles the SAT solver", part: Part::Build, is_there: || exists("g++") },
    Need {
        package: "postgresql",
        why: "tests collect histories from it",
        part: Part::Servers,
        is_there: || is_installed(Kind::PostgreSql),
    },
    Need {
        package: "mariadb-server",
        why: "tests collect histories from it",
        part: Part::Servers,
        is_there: || is_installed(Kind::MariaDb),
    },
    Need {
        package: "pgbouncer",
        why: "tests collect histories through it",
        part: Part::Servers,
        is_there: is_pooler_installed,
    },
    Need {
        package: "python3-psycopg",
        why: "tests record what its clients do",
        part: Part::Servers,
        is_there: || has_python("psycopg"),
    },
    Need {
        package: "python3-psycopg2",
        why: "tests record and serve applications with it",
        part: Part::Servers,
        is_there: || has_python("psycopg2"),
    },
    Need {
        package: "python3-sqlalchemy",
        why: "tests record and serve applications with it",
        part: Part::Servers,
        is_there: || has_python("sqlalchemy"),
    },
    Need {
        package: "python3-greenlet",
        why: "SQLAlchemy needs it for asyncpg",
        part: Part::Servers,
        is_there: || has_python("greenlet"),
    },
    Need {
        package: "python3-asyncpg",
        why: "tests record and serve applications with it",
        part: Part::Servers,
        is_there: || has_python("asyncpg"),
    },
    Need {
        package: "python3-django",
        why: "tests record and serve applications with it",
        part: Part::Servers,
        is_there: || has_python("django"),
    },
    Need {
        package: "python3-pytest",
        why: "tests run the plugin with it",
        part: Part::Servers,
        is_there: || has_python("pytest"),
    },
    Need {
        package: "default-jdk-headless",
        why: "tests record and serve applications in Java",
        part: Part::Servers,
        is_there: || succeeds("javac", &["-version"]) && exists("java"),
    },
    Need {
        package: "libpostgresql-jdbc-java",
        why: "tests record and serve applications with it",
        part: Part::Servers,
        is_there: || std::path::Path::new("/usr/share/java/postgresql.jar").is_file(),
    },
    Need {
        package: "junit4",
        why: "tests run an example with it",
        part: Part::Servers,
        is_there: || std::path::Path::new("/usr/share/java/junit4.jar").is_file(),
    },
    Need {
        package: "npm",
        why: "tests record and serve applications in JavaScript",
        part: Part::Servers,
        is_there: || exists("npm") && exists("node"),
    },
    Need {
        package: "python3-venv",
        why: "tests of the Python package run in an environment of their own",
        part: Part::Python,
        is_there: crate::python::is_there,
    },
    Need { package: "chromium", why: "tests open pages in it", part: Part::Pages, is_there: || exists("chromium") },
];

/// Installs what is missing. What could not be installed comes back, and is an error on CI or if nothing can be built
/// without it.
pub(crate) fn setup() -> Result<Vec<Need>> {
    let missing = install_missing()?;
    if missing.iter().all(|it| it.package != "npm") {
        install_node_packages()?;
    }
    Ok(missing)
}

/// Has Debian's Python this module?
fn has_python(module: &str) -> bool {
    succeeds("/usr/bin/python3", &["-c", &format!("import {module}")])
}

/// Puts packages for Node where tests look for them.
fn install_node_packages() -> Result<()> {
    let from = root().join("crates/edges/serve/tests/proxy/clients");
    let folder = root().join("target/clients");
    let (wanted, there) = (fs::read(from.join("package.json"))?, folder.join("package.json"));
    let is_there =
        fs::read(&there).is_ok_and(|it| it == wanted) && folder.join("node_modules/.package-lock.json").is_file();
    if is_there {
        return Ok(());
    }
    println!("setup: packages for Node go to {}", folder.display());
    fs::create_dir_all(&folder)?;
    fs::write(&there, &wanted)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]).current_dir(&folder);
    match run(&mut npm) {
        Err(error) if !is_ci() => println!("setup: {error:#}; tests with Node are skipped"),
        other => other?,
    }
    Ok(())
}

fn install_missing() -> Result<Vec<Need>> {
    let missing = missing();
    if missing.is_empty() {
        println!("setup: everything is installed that building and testing need");
        return Ok(missing);
    }
    println!("setup: these packages are missing, and will be installed with apt-get:");
    for need in &missing {
        println!("  {:<15} {}", need.package, need.why);
    }
    let packages: Vec<&str> = missing.iter().map(|it| it.package).collect();
    let failure = install_debian_packages(&packages).err().map(|it| format!(": {it:#}")).unwrap_or_default();
    let missing = self::missing();
    let names = missing.iter().map(|it| it.package).collect::<Vec<_>>().join(", ");
    if missing.iter().any(|it| it.part == Part::Build) {
        bail!("{names} could not be installed{failure}");
    }
    if !missing.is_empty() && is_ci() {
        bail!("{names} could not be installed, and CI skips no test{failure}");
    }
    for need in &missing {
        println!("setup: {} could not be installed, so some tests are skipped{failure}", need.package);
    }
    Ok(missing)
}

fn missing() -> Vec<Need> {
    NEEDS.into_iter().filter(|it| !(it.is_there)()).collect()
}

/// Whether this is an automatic run that must skip nothing, as services set it.
fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|it| it == "true" || it == "1")
}
