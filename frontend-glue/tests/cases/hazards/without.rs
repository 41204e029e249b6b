//! A program lowered with one mitigation left out, as an executable: it must fail in the way that its comment says.
//!
//! The lowering happens here, through the library; what the command would check afterwards is checked here, too, but only
//! reported: a wrong module is taken further, until something shows. Code is made in a process of its own (`tally build`
//! of the lowered module), since leaving out a mitigation may crash LLVM.

use super::program::{Program, Without};
use inkwell::context::Context;
use std::path::Path;
use tally_kit::folder::{Folder, Outcome};
use tally_llvm::load::reading::Reading;
use tally_llvm::lower::{LowerOptions, lower};

/// Whether each `WITHOUT` line comes true.
pub fn check(program: &Program) -> Result<(), String> {
    for without in &program.withouts {
        let shown = what_shows(program, without);
        if !without.shows.split('|').any(|text| shown.contains(text)) {
            let Without { mitigation, level, shows } = without;
            return Err(format!(
                "without {mitigation} at {level} this was expected: {shows}\nand this came out:\n{shown}"
            ));
        }
    }
    Ok(())
}

fn what_shows(program: &Program, without: &Without) -> String {
    let folder = Folder::compiling_once(&[]);
    if let Err(refusal) = lower_without(&program.file, without, &folder.path("lowered.bc")) {
        return refusal;
    }
    let others = program.others.iter().map(|file| file.to_str().unwrap());
    let build = ["build", "-o", "program", "--opt", &without.level, "lowered.bc"];
    let built = folder.tally(&build.into_iter().chain(others).collect::<Vec<_>>());
    if built.status != Some(0) {
        return text(&built);
    }
    text(&folder.program(&[("TALLY_EPOCH_BYTES", "4KiB")], &[]))
}

fn lower_without(file: &Path, without: &Without, to: &Path) -> Result<(), String> {
    let context = Context::create();
    let machine = tally_llvm::emit::target::machine(Default::default()).map_err(|error| error.to_string())?;
    let module =
        tally_llvm::pipeline::load(&context, file, &machine, &Reading::default()).map_err(|error| error.to_string())?;
    let mut options = LowerOptions {
        eliminate_tail_calls: without.level != "0" && without.mitigation != "tail-recursion",
        module_name: "hazard.ll".into(),
        ..LowerOptions::default()
    };
    if without.mitigation != "tail-recursion" {
        options.without = Some(without.mitigation.parse()?);
    }
    lower(&module, &options).map_err(|findings| format!("{findings:?}"))?;
    module.verify().map_err(|message| message.to_string())?;
    assert!(module.write_bitcode_to_path(to), "the lowered module cannot be written");
    Ok(())
}

fn text(outcome: &Outcome) -> String {
    let end = outcome.status.map_or("signal".to_owned(), |status| format!("status {status}"));
    format!("{}{}\n{end}", outcome.stdout, outcome.stderr)
}
