//! Packages can be published, and the library without its features stays small.

use crate::{assert_none, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// How many packages the library may have without any feature, itself and its own crates included.
const SMALL_MAX: usize = 40;

#[test]
fn published_packages_say_what_they_are() {
    let mut found = Vec::new();
    for package in published() {
        for field in ["description", "license", "readme", "rust_version"] {
            if package[field].as_str().is_none_or(str::is_empty) {
                found.push(format!("{} has no {field}", package["name"]));
            }
        }
        for field in ["keywords", "categories"] {
            if package[field].as_array().is_none_or(Vec::is_empty) {
                found.push(format!("{} has no {field}", package["name"]));
            }
        }
    }
    assert_none(&found, "packages that are published without saying what they are");
}

#[test]
fn published_packages_name_versions_of_published_packages() {
    let published = published();
    let names: BTreeSet<&str> = published.iter().filter_map(|it| it["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in &published {
        for dependency in package["dependencies"].as_array().unwrap() {
            let (name, is_ours) = (dependency["name"].as_str().unwrap(), dependency["path"].is_string());
            let has_version = dependency["req"] != "*";
            // Cargo leaves out a dependency of tests that has no version.
            let is_left_out = dependency["kind"] == "dev" && !has_version;
            if is_ours && !is_left_out && !(has_version && names.contains(name)) {
                found.push(format!("{} needs {name}, which is not published", package["name"]));
            }
        }
    }
    assert_none(&found, "dependencies that nobody could download");
}

#[test]
fn the_library_without_features_is_small() {
    let packages = tree(&["--no-default-features"]);
    let heavy = ["clap", "mysql", "postgres", "rusqlite", "serde_json", "iso-cli", "iso-collect", "iso-report"];
    let found: Vec<String> = heavy.iter().filter(|it| packages.contains(**it)).map(|it| (*it).to_owned()).collect();
    assert_none(&found, "the library without features pulls");
    let n_packages = packages.len();
    assert!(n_packages <= SMALL_MAX, "the library without features has {n_packages} packages: {packages:?}");
}

#[test]
fn the_library_with_all_features_has_every_driver() {
    let packages = tree(&[]);
    for name in ["iso-cli", "iso-collect", "iso-report", "mysql", "postgres", "rusqlite"] {
        assert!(packages.contains(name), "{name} is in no default feature");
    }
}

/// The names of the packages that the library is built of.
fn tree(features: &[&str]) -> BTreeSet<String> {
    let words = ["tree", "--package", "isoscope", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let output = Command::new(env!("CARGO")).args(words).args(features).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo tree failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|it| it.split(' ').next()).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

fn published() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata failed");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    // `publish = false` is an empty list of registries.
    let found: Vec<Value> = packages.filter(|it| it["publish"].is_null()).cloned().collect();
    assert!(found.iter().any(|it| it["name"] == "isoscope"), "the library is not published");
    found
}
