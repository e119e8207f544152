//! Plays a script on a database step by step, and says whether the expected level forbids what happened.
//!
//! `cargo run --package isoscope --example replay [URL]`; without an address, the weak store at causal consistency.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use isoscope::collect::script::{SavedScript, play_again};
use isoscope::collect::{Control, open};
use isoscope::spec::Level;

/// Two sessions read the same version, and both overwrite it.
const LOST_UPDATE: &str = "\
table kv int
row kv x 0
s1 begin LEVEL  # ok
s2 begin LEVEL  # ok
s1 get kv x     # 0
s2 get kv x     # 0
s1 put kv x 1   # ok
s1 commit       # ok
s2 put kv x 2   # ok
s2 commit       # ok
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "store:cc".to_owned());
    let database = open(&url)?;
    let saved: SavedScript = LOST_UPDATE.parse()?;
    let saved = saved.with_isolations(|_| database.isolations()[0].to_owned());
    let again = play_again(&*database, &saved.script, Level::Serializable, 3, &Control::new(), &mut |_| {})?;
    for (idx, step) in saved.script.steps.iter().enumerate() {
        let mark = if saved.is_as_recorded(&again.played, idx) == Some(false) { "!" } else { " " };
        println!("{mark} {step}: {}", again.played.said(idx));
    }
    println!("{}: not serializable in {} of {} tries", database.describe(), again.shown, again.tries);
    Ok(())
}
