//! A driver for the newest surrealmx.

#[path = "../surrealmx.rs"]
mod driver;

use surrealmx as engine;

const VERSION: &str = "1.1";

fn main() {
    driver::main();
}
