//! The binary `isoscope`: the command line of `crates/edges/cli`.

fn main() {
    iso_cli::main()
}
