//! `cargo xtask playground`: the playground as one file, with the engines in WebAssembly.
//!
//! The standard library of that target comes from rustup. Where rustup cannot load it, Debian's compiler for browsers builds it
//! from its sources. That compiler lies in a folder of its own, and nothing else is built with it.

use crate::playground::offline;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::system::{ensure_debian_package, exists, first_line, run};
use xtask::{root, target_folder};

const TARGET: &str = "wasm32-unknown-unknown";

/// The compressed engines are no larger, in bytes.
const MAX_ENGINE: usize = 3_000_000;

/// What asks, reads and shows is compiled for size; what searches, for speed.
const SMALL: [&str; 11] = [
    "clap_builder",
    "clap_complete",
    "sqlparser",
    "iso-cli",
    "iso-collect",
    "iso-servers",
    "iso-generate",
    "iso-store",
    "iso-sql",
    "iso-formats",
    "iso-report",
];

/// Builds the page, and returns where it is.
pub(crate) fn build() -> Result<PathBuf> {
    let folder = target_folder().join("playground");
    fs::create_dir_all(&folder)?;
    let engine = engine(&folder)?;
    let page = folder.join("isoscope.html");
    fs::write(&page, assembled(&engine)?)?;
    println!("{} ({} bytes)", page.display(), fs::metadata(&page)?.len());
    Ok(page)
}

/// Builds the page, opens it in a browser, and compares it with the tool.
pub(crate) fn test() -> Result<()> {
    ensure_debian_package("chromium", "chromium")?;
    let page = build()?;
    let folder = target_folder().join("pages");
    fs::create_dir_all(&folder)?;
    run(Command::new(env!("CARGO")).args(["build", "--quiet"]).current_dir(root()))?;
    offline(&target_folder().join("debug/isoscope"), &page, &folder)
}

/// The engines as a module.
fn engine(folder: &Path) -> Result<PathBuf> {
    let build = folder.join("build");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--package", "iso-web", "--target", TARGET]);
    // The linker sees the whole, and leaves out what the page does not reach.
    cargo.args(["--config", "profile.release.lto='fat'", "--config", "profile.release.codegen-units=1"]);
    for package in SMALL {
        cargo.arg("--config").arg(format!("profile.release.package.{package}.opt-level='s'"));
    }
    cargo.env("CARGO_TARGET_DIR", &build).current_dir(root());
    let libraries = first_line(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(&libraries).is_dir() {
        let compiler = debian_compiler(&folder.join("compiler"))?;
        let linker = Path::new(&libraries).ancestors().nth(2).context(libraries.clone())?;
        let linker = linker.join(format!("{}-unknown-linux-gnu/bin/rust-lld", std::env::consts::ARCH));
        cargo
            .arg("-Zbuild-std=std,panic_abort")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", compiler.join("usr/bin/rustc"))
            .env("LD_LIBRARY_PATH", shared_libraries(&compiler)?)
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    run(&mut cargo)?;
    Ok(build.join(TARGET).join("release/iso_web.wasm"))
}

/// Debian's compiler for browsers with the sources of its standard library, unpacked into a folder and not installed.
fn debian_compiler(folder: &Path) -> Result<PathBuf> {
    let is_there = folder.join("unpacked");
    if is_there.exists() {
        return Ok(folder.to_owned());
    }
    ensure!(exists("apt-get"), "`rustup target add {TARGET}` is needed here");
    println!("rustup has no {TARGET}: unpacking Debian's compiler for it");
    fs::create_dir_all(folder)?;
    let library = depends("libstd-rust-web-dev", "libstd-rust-web-")?;
    let llvm = depends(&library, "libllvm")?;
    let packages = ["rustc-web", "rust-web-src", "libstd-rust-web-dev", &library, &llvm];
    run(Command::new("apt-get").args(["--quiet", "download"]).args(packages).current_dir(folder))?;
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        if file.extension().is_some_and(|it| it == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder))?;
            fs::remove_file(&file)?;
        }
    }
    fs::write(is_there, "")?;
    Ok(folder.to_owned())
}

/// The package that another one depends on, whose name begins so.
fn depends(package: &str, start: &str) -> Result<String> {
    let output = Command::new("apt-cache").args(["depends", package]).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = said.lines().filter_map(|it| it.trim().strip_prefix("Depends: "));
    let found = names.map(str::to_owned).find(|it| it.starts_with(start));
    found.with_context(|| format!("apt knows no {package} that depends on {start}..; try `rustup target add {TARGET}`"))
}

/// Where the compiler's own libraries are.
fn shared_libraries(compiler: &Path) -> Result<PathBuf> {
    let folders = fs::read_dir(compiler.join("usr/lib"))?.flatten().map(|it| it.path());
    let found = folders.filter(|it| it.is_dir()).find(|it| it.to_string_lossy().ends_with("-linux-gnu"));
    found.context("the compiler has no libraries")
}

/// The page with all that it needs.
fn assembled(engine: &Path) -> Result<String> {
    let source = |name: &str| {
        let path = root().join("crates/edges").join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let [page, style, script, offline, worker] = ["page.html", "page.css", "page.js", "offline.js", "worker.js"]
        .map(|it| source(&format!("cli/src/playground/{it}")));
    let (script, offline) = (script?, offline?);
    // An answer is a page with its own script, in a frame that obeys the policy of both.
    let scripts = [offline.as_str(), script.as_str(), &source("report/src/page.js")?].map(hash);
    let [first, second, third] = scripts;
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{}' '{}' '{}' 'wasm-unsafe-eval'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'\">",
        first?, second?, third?
    );
    let packed = piped(Command::new("gzip").args(["-9", "-n", "-c"]).arg(engine), &[])?;
    ensure!(packed.len() < MAX_ENGINE, "the compressed engines have {} bytes", packed.len());
    let engines = format!(
        "<script type=\"application/octet-stream\" id=\"engine\">{}</script>\n\
         <script type=\"text/plain\" id=\"worker\">{}</script>\n\
         <script>{offline}</script>\n<script>{script}</script>",
        base64(&packed),
        worker?
    );
    let mut page = page?;
    for (old, new) in [
        ("<meta charset=\"utf-8\">", format!("<meta charset=\"utf-8\">\n{policy}")),
        ("<link rel=\"stylesheet\" href=\"page.css\">", format!("<style>\n{}</style>", style?)),
        ("<script src=\"page.js\"></script>", engines),
    ] {
        ensure!(page.matches(old).count() == 1, "the page has no {old}");
        page = page.replace(old, &new);
    }
    Ok(page)
}

/// What a policy calls a script.
fn hash(script: &str) -> Result<String> {
    let said = piped(Command::new("sha256sum").arg("-"), script.as_bytes())?;
    let digits = said.get(..64).context("sha256sum says nothing")?;
    let bytes = digits.chunks(2).map(|it| Ok(u8::from_str_radix(std::str::from_utf8(it)?, 16)?));
    Ok(format!("sha256-{}", base64(&bytes.collect::<Result<Vec<u8>>>()?)))
}

/// What a program makes of its input.
fn piped(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    process.stdin.take().context("no input")?.write_all(input)?;
    let output = process.wait_with_output()?;
    if !output.status.success() {
        bail!("{command:?} failed ({})", output.status);
    }
    Ok(output.stdout)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, it| bits << 8 | usize::from(*it)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * place) & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits_of_six_bits() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_policy_names_scripts_by_their_hash() {
        assert_eq!(hash("").unwrap(), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
