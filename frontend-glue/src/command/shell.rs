//! `tally completions` and `tally man`: what a shell and `man` need to know of the command line, made of it.
//!
//! Both are for those who install Tally; `cargo xtask install` calls them.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::Tally;
use super::failure::{Failure, print};

/// Print what a shell needs to complete command lines of tally
///
/// For this session of bash: source <(tally completions bash)
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Completions {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Tally::command(), "tally", &mut text);
        print(&text)
    }
}

/// Write manual pages into a folder: tally.1, and one for each command
#[derive(Args, Debug)]
pub(super) struct Man {
    /// An existing folder, as share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let mut tally = Tally::command();
        tally.build();
        write_page(&self.folder, "tally", tally.clone())?;
        for command in tally.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("tally-{}", command.get_name());
            write_page(&self.folder, &name, command.clone().name(name.clone()))?;
        }
        Ok(())
    }
}

fn write_page(folder: &Path, name: &str, command: Command) -> Result<(), Failure> {
    let place = folder.join(format!("{name}.1"));
    let written = || -> std::io::Result<()> {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).title(name.to_uppercase()).render(&mut text)?;
        std::fs::write(&place, text)
    };
    written().map_err(|error| Failure::from(format!("{}: {error}", place.display())))
}
