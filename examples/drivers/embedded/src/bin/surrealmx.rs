//! A driver for the newest surrealmx.

use surrealmx as engine;

const VERSION: &str = "1.1";

include!("../surrealmx.rs");
