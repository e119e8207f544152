//! Dependencies point from edges to the library to engines to the kernel, and heavy ones have one owner.

use crate::{assert_none, crate_folders, project_files_with_extension, read, root};
use serde_json::Value;
use std::process::Command;

/// A crate may depend on its own layer or on one before it.
const LAYERS: &[&str] = &["kernel", "engines", "library", "edges"];

/// The engines that other engines may use.
const SHARED_ENGINES: &[&str] = &["iso-form", "iso-solve"];

/// The only engine that edges may use: it serves values, and answers nothing that could be certified.
const ENGINE_OF_EDGES: &str = "iso-store";

/// Dependencies that only some may name.
const OWNED: &[(&str, &[&str])] = &[
    ("cadical-sys", &["crates/engines/solve"]),
    ("mysql", &["crates/edges/collect"]),
    ("postgres", &["crates/edges/collect"]),
    ("rusqlite", &["crates/edges/collect"]),
    ("sqlparser", &["crates/edges/serve", "crates/edges/sql"]),
    ("clap", &["crates/edges/cli"]),
    ("clap_complete", &["crates/edges/cli"]),
    ("anyhow", &["crates/edges/cli", "bench/", "xtask"]),
    ("serde", &["crates/edges/", "bench/", "xtask"]),
    ("serde_json", &["crates/edges/", "bench/", "xtask"]),
];

#[test]
fn dependencies_point_down() {
    let mut found = Vec::new();
    for dependency in dependencies() {
        let (Some(from), Some(to)) = (layer_of(&dependency.user), dependency.path.as_deref().and_then(layer_of)) else {
            continue;
        };
        let Dependency { user, name, .. } = &dependency;
        if to > from {
            found.push(format!("{user} ({}) uses {name} ({})", LAYERS[from], LAYERS[to]));
        }
        // Tests may compare engines; what is shipped may not mix them.
        let both_engines = LAYERS[from] == "engines" && LAYERS[to] == "engines";
        if both_engines && !dependency.is_for_tests && !SHARED_ENGINES.contains(&name.as_str()) {
            found.push(format!("{user} uses another engine, {name}"));
        }
        let past_the_library = LAYERS[from] == "edges" && LAYERS[to] == "engines";
        if past_the_library && !dependency.is_for_tests && name != ENGINE_OF_EDGES {
            found.push(format!("{user} uses the engine {name}, whose answers nobody has certified"));
        }
    }
    assert_none(&found, "dependencies must point from edges to the library to engines to the kernel");
}

#[test]
fn heavy_dependencies_have_one_owner() {
    let mut found = Vec::new();
    for Dependency { user, name, is_for_tests, .. } in dependencies() {
        let Some((_, owners)) = OWNED.iter().find(|it| it.0 == name) else { continue };
        if !is_for_tests && !owners.iter().any(|it| user.starts_with(it)) {
            found.push(format!("{user} uses {name}, which belongs to {}", owners.join(", ")));
        }
    }
    assert_none(&found, "dependencies outside their place");
}

#[test]
fn only_the_solver_crate_speaks_of_its_solver() {
    let names_it = |it: &String| read(it).contains(concat!("cadical", "_sys"));
    let outside = |it: &String| !it.starts_with("crates/engines/solve/");
    let found: Vec<String> = project_files_with_extension("rs").into_iter().filter(outside).filter(names_it).collect();
    assert_none(&found, "files that name the solver");
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let takes = |it: &String| read(&format!("{it}/Cargo.toml")).contains("[lints]\nworkspace = true");
    let found: Vec<String> = crate_folders().into_iter().filter(|it| !takes(it)).collect();
    assert_none(&found, "crates without the workspace's lints");
}

struct Dependency {
    /// The folder of the package that has it, as seen from the root.
    user: String,
    name: String,
    /// Its folder, if it is ours.
    path: Option<String>,
    is_for_tests: bool,
}

fn dependencies() -> Vec<Dependency> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata failed");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let prefix = format!("{}/", root().display());
    let inside = |path: &Value| path.as_str().map(|it| it.trim_start_matches(&prefix).to_owned());
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let user = inside(&package["manifest_path"]).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            found.push(Dependency {
                user: user.clone(),
                name: dependency["name"].as_str().unwrap().to_owned(),
                path: inside(&dependency["path"]),
                is_for_tests: dependency["kind"] == "dev",
            });
        }
    }
    assert!(!found.is_empty(), "no dependencies found");
    found
}

fn layer_of(path: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| path.starts_with(&format!("crates/{layer}/")))
}
