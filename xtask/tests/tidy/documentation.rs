//! Documents name only what exists, and everything that exists has its page.

use crate::{assert_none, crate_folders, project_files_with_extension, read, root};
use iso_evidence::Anomaly;
use iso_spec::Level;
use std::path::Path;

#[test]
fn the_architecture_page_names_only_paths_that_exist() {
    let text = read("ARCHITECTURE.md");
    let is_path = |it: &&str| it.contains('/') && !it.contains([' ', '<', '*', ':', '(']);
    let gone = |it: &&str| !root().join(it.trim_end_matches('/')).exists();
    let found: Vec<String> = in_backticks(&text).filter(is_path).filter(gone).map(str::to_owned).collect();
    assert_none(&found, "paths in ARCHITECTURE.md that do not exist");
}

#[test]
fn the_architecture_page_names_every_crate() {
    let text = read("ARCHITECTURE.md");
    let is_missing = |it: &String| !in_backticks(&text).any(|name| name.trim_end_matches('/') == it);
    let found: Vec<String> = crate_folders().into_iter().filter(is_missing).collect();
    assert_none(&found, "crates that ARCHITECTURE.md does not name");
}

#[test]
fn every_anomaly_has_a_page_with_its_history() {
    for anomaly in Anomaly::ALL {
        let page = read(&format!("docs/anomalies/{anomaly}.md"));
        let history = read(&format!("corpus/anomalies/{anomaly}.history"));
        let block = format!("```history\n{history}```\n");
        assert!(page.contains(&block), "docs/anomalies/{anomaly}.md must show corpus/anomalies/{anomaly}.history");
        assert!(read("docs/anomalies/README.md").contains(&format!("({anomaly}.md)")), "{anomaly} is not in the index");
    }
}

#[test]
fn every_level_has_a_page_that_names_its_definition() {
    let index = read("docs/levels/README.md");
    for level in Level::ALL {
        let file = format!("docs/levels/{}.md", level.full_name());
        let page = read(&file);
        assert!(page.contains(&format!("`{}`", level.definition())), "{file} does not name {}", level.definition());
        assert!(page.contains("```history\n"), "{file} has no history");
        assert!(index.contains(&format!("({}.md)", level.full_name())), "{level} is not in the index of levels");
    }
}

#[test]
fn links_point_to_files_that_exist() {
    let mut found = Vec::new();
    for file in project_files_with_extension("md") {
        let text = read(&file);
        for target in links(&text) {
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            let from = Path::new(&file).parent().unwrap();
            if !is_elsewhere && !root().join(from).join(path).exists() {
                found.push(format!("{file}: {target}"));
            }
        }
    }
    assert_none(&found, "links to files that do not exist");
}

fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    outside_fences(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The targets of `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in outside_fences(text) {
        let targets = line.split("](").skip(1).filter_map(|it| it.split(')').next());
        found.extend(targets.map(|it| it.split(' ').next().unwrap_or_default()));
    }
    found
}

fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}
