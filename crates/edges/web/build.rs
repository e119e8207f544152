//! Searches are deeper than what a module has room for by default.
#![allow(clippy::print_stdout, reason = "cargo reads it")]

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|it| it == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=-z");
        println!("cargo::rustc-link-arg-cdylib=stack-size=8388608");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
