//! Writes the manual pages, one for each verb, into a folder: `cargo xtask man` runs it.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: man FOLDER")?);
    fs::create_dir_all(&folder)?;
    // The page of `help` would say nothing.
    let mut command = iso_cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &folder)
}

/// Writes the page of a command, and those of its verbs.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Box<dyn Error>> {
    for verb in command.get_subcommands() {
        write_pages(verb, folder)?;
    }
    let man = Man::new(command.clone()).manual("Isoscope").source(format!("isoscope {}", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    examples(command).to_writer(&mut page)?;
    fs::write(folder.join(man.get_filename()), page)?;
    Ok(())
}

/// The examples, exit codes and tables that stand at the end of the help, line by line as they are.
fn examples(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let Some(text) = command.get_after_long_help().or(command.get_after_help()) else { return roff };
    roff.control("SH", ["EXAMPLES AND EXIT CODES"]);
    roff.control("nf", []);
    for line in text.to_string().lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
