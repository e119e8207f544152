//! The Python package: its extension comes from the build of the workspace, and pytest runs in an environment of its own.
//!
//! A wheel is built by maturin, with the options of a release and from scratch. Tests take what `cargo build --workspace`
//! has built already, so that nothing is compiled twice.

use anyhow::{Context, Result, bail};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::system::{run, succeeds};
use xtask::{root, target_folder};

/// What tests need from the index of Python packages.
const PACKAGES: [&str; 6] = ["pytest", "polars", "pandas", "pyarrow", "mypy", "datafusion"];

/// Pythons that may be there, the one of the user first; the package needs this version or a later one.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];
const IS_NEW_ENOUGH: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// Can this Python make environments, and is it new enough?
pub(crate) fn is_there() -> bool {
    interpreter().is_some()
}

fn interpreter() -> Option<&'static str> {
    PYTHONS.into_iter().find(|it| succeeds(it, &["-c", IS_NEW_ENOUGH]))
}

/// Builds the extension and runs the package's tests.
pub(crate) fn python() -> Result<()> {
    let python = environment()?;
    let package = laid_out()?;
    let mut tests = Command::new(&python);
    // Not from the folder above, where the sources would be found in the place of the package.
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).current_dir(root().join("python/tests"));
    // Nothing is written beside the sources.
    tests.env("PYTHONPATH", &package).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("MYPY_CACHE_DIR", target_folder().join("python/mypy"));
    run(&mut tests)
}

/// An environment with what tests need, those of the engine `DataFusion` included; made once, and again if that changes.
pub(crate) fn environment() -> Result<PathBuf> {
    let folder = target_folder().join("python/venv");
    let (python, stamp) = (folder.join("bin/python"), folder.join("packages.txt"));
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|it| it == wanted) && python.exists() {
        return Ok(python);
    }
    let Some(base) = interpreter() else { bail!("there is no Python 3.11 or later with venv") };
    println!("an environment for the Python package's tests: {}", PACKAGES.join(", "));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    run(Command::new(base).args(["-m", "venv"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    run(Command::new(&python).args(pip).args(PACKAGES))?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The package as a wheel would lay it out.
fn laid_out() -> Result<PathBuf> {
    run(Command::new(env!("CARGO")).args(["build", "--workspace", "--lib"]).current_dir(root()))?;
    let folder = target_folder().join("python/package");
    let (from, to) = (root().join("python/isoscope"), folder.join("isoscope"));
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(&from)? {
        let path = entry?.path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().context("a file has no name")?))?;
        }
    }
    copy(&root().join("python/isoscope_pytest.py"), &folder.join("isoscope_pytest.py"))?;
    let extension = target_folder().join(format!("debug/{DLL_PREFIX}isoscope_native{DLL_SUFFIX}"));
    copy(&extension, &to.join("_native.abi3.so"))?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
}
