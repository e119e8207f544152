//! `cargo xtask book`: the book that `mdbook` makes of docs, in `target/book`, with links that lead somewhere.
//!
//! Pages link to files of the project as they lie there. In the book, those become pages of their own, and folders pages
//! with what is in them; a link to a README is one to the index that `mdbook` makes of it.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use xtask::system::exists;
use xtask::{root, target_folder};

/// Where pages of files of the project are.
const SOURCE: &str = "source";

/// Makes the book, and gives its folder.
pub(crate) fn book() -> Result<PathBuf> {
    let folder = target_folder().join("book");
    ensure!(exists("mdbook"), "`mdbook` is missing; `cargo install mdbook` installs it");
    let mut build = Command::new("mdbook");
    let made = build.arg("build").arg("--dest-dir").arg(&folder).current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "mdbook says:\n{said}");
    let mut book = Book { folder, broken: BTreeSet::new() };
    for page in pages(&book.folder)? {
        book.mend(&page)?;
    }
    if !book.broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", book.broken.into_iter().collect::<Vec<_>>().join("\n"));
    }
    Ok(book.folder)
}

/// The pages below a folder, but not those that are made for other places.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|it| it == "html") && !path.ends_with("404.html") {
            found.push(path);
        }
    }
    Ok(found)
}

struct Book {
    folder: PathBuf,
    /// Links that lead nowhere.
    broken: BTreeSet<String>,
}

impl Book {
    /// Mends the links of a page.
    fn mend(&mut self, page: &Path) -> Result<()> {
        let text = fs::read_to_string(page)?;
        let mut parts = text.split("href=\"");
        let mut mended = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (link, rest) = part.split_once('"').context("a link has no end")?;
            let link = self.link(page, link)?;
            mended.push_str("href=\"");
            mended.push_str(&link);
            mended.push('"');
            mended.push_str(rest);
        }
        if mended != text {
            fs::write(page, mended)?;
        }
        Ok(())
    }

    /// A link as it must be in the book.
    fn link(&mut self, page: &Path, link: &str) -> Result<String> {
        let (path, place) = link.split_once('#').map_or((link, None), |(path, place)| (path, Some(place)));
        if path.contains("://") || path.starts_with("mailto:") || path.is_empty() && place.is_none_or(str::is_empty) {
            return Ok(link.to_owned());
        }
        let from = page.parent().context("a page is in a folder")?;
        let target = if path.is_empty() { page.to_owned() } else { plain(&from.join(path)) };
        if let Some(index) = path.strip_suffix("README.html").filter(|_| !target.exists()) {
            let index = format!("{index}index.html");
            if from.join(&index).exists() {
                return self.at_place(page, &from.join(&index), &index, place);
            }
        }
        if target.exists() {
            return self.at_place(page, &target, path, place);
        }
        let inside = from.strip_prefix(&self.folder).unwrap_or(Path::new(""));
        let source = plain(&root().join("docs").join(inside).join(path));
        let text = source.with_extension("md");
        let Some(source) = [source, text].into_iter().find(|it| it.exists()) else {
            self.broken.insert(format!("  {}: {link}", inside.join(page.file_name().unwrap_or_default()).display()));
            return Ok(link.to_owned());
        };
        let up = "../".repeat(inside.components().count());
        Ok(format!("{up}{}", self.show(&source)?))
    }

    /// A link to a place on a page of the book.
    fn at_place(&mut self, page: &Path, target: &Path, path: &str, place: Option<&str>) -> Result<String> {
        let Some(place) = place else { return Ok(path.to_owned()) };
        if !fs::read_to_string(target)?.contains(&format!("id=\"{place}\"")) {
            self.broken.insert(format!("  {}: {path}#{place}", page.display()));
        }
        Ok(format!("{path}#{place}"))
    }

    /// Makes a page of a file or a folder of the project; gives its path in the book.
    fn show(&self, source: &Path) -> Result<String> {
        let name = source.strip_prefix(root()).context("links stay in the project")?.display().to_string();
        let text = if source.is_dir() { listing(source)? } else { fs::read_to_string(source)? };
        let path = format!("{SOURCE}/{name}.html");
        let page = self.folder.join(&path);
        fs::create_dir_all(page.parent().unwrap_or(&page))?;
        let (name, text) = (escaped(&name), escaped(&text));
        fs::write(
            page,
            format!("<!doctype html><meta charset=utf-8><title>{name}</title><h1>{name}</h1><pre>{text}</pre>\n"),
        )?;
        Ok(path)
    }
}

/// The names of the files in a folder.
fn listing(folder: &Path) -> Result<String> {
    let names =
        fs::read_dir(folder)?.map(|it| -> Result<String> { Ok(it?.file_name().to_string_lossy().into_owned()) });
    Ok(names.collect::<Result<BTreeSet<String>>>()?.into_iter().collect::<Vec<_>>().join("\n"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A path without steps back.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
