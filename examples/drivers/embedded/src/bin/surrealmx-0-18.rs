//! A driver for surrealmx 0.18.0, which lets transactions read what nobody wrote.

#[path = "../surrealmx.rs"]
mod driver;

use surrealmx_0_18 as engine;

const VERSION: &str = "0.18.0";

fn main() {
    driver::main();
}
