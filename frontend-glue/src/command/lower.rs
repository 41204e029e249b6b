//! `tally lower`: write the lowered module.

use std::path::{Path, PathBuf};

use clap::Args;
use inkwell::context::Context;
use inkwell::module::Module;

use super::failure::Failure;
use super::messages::Messages;
use super::options::{GcNames, StackObjects};
use super::remarks::Remarks;
use crate::aot::output_file;
use crate::emit::level::Level;
use crate::emit::{callee_copy, target};
use crate::pipeline::{self, Identity};
use tally_compiled::program::destination::Destination;

/// Write the lowered module
///
/// The result is ordinary IR, not optimised yet: roots named in operand bundles, barriers and
/// allocations inline, the module registered with the runtime. Any LLVM 22 tool may work on it;
/// `tally build` takes it back.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Lower {
    #[command(flatten)]
    gc_names: GcNames,
    #[command(flatten)]
    remarks: Remarks,
    #[command(flatten)]
    messages: Messages,
    /// Lower for zeal: an epoch at every safepoint, a check at every access
    #[arg(long)]
    zeal: bool,
    #[command(flatten)]
    stack_objects: StackObjects,
    /// A module: .ll, .bc, .c or .cpp, or - for standard input (with -x)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file to write: .ll is text, .bc is bitcode, - is text on standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

const EPILOGUE: &str = "\
Examples:
  tally lower program.ll -o lowered.ll
  tally lower program.c -o - | less
  tally lower a.ll -o a.bc && opt-22 -O3 a.bc -o b.bc && tally build --opt 0 b.bc -o program";

impl Lower {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let form = Form::of(&self.output)?;
        output_file::spare_inputs(&self.output, std::slice::from_ref(&self.file))?;
        let mut options = self.gc_names.compile_options();
        (options.zeal, options.stack_objects) = (self.zeal, self.stack_objects.are_on());
        // The other modules of the program are lowered on other command lines.
        options.identity = Identity::Content;
        let context = Context::create();
        let machine = target::machine_of(options.target, Level::O0)?;
        let module = pipeline::load(&context, &self.file, &machine, &options.reading);
        let module = module.map_err(|error| self.messages.failure(error))?;
        let remarks = pipeline::lower(&module, &self.file, &options).map_err(|error| self.messages.failure(error))?;
        self.remarks.report(remarks.iter())?;
        callee_copy::for_other_tools(&module);
        form.write(&module, &self.output)
    }
}

/// How a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    StandardOutput,
    Text,
    Bitcode,
}

impl Form {
    /// Asked before any work is done, so that a typing error costs nothing.
    fn of(output: &Path) -> Result<Form, Failure> {
        if output == Path::new("-") {
            return Ok(Form::StandardOutput);
        }
        if matches!(Destination::of(output), Ok(Destination::Descriptor(_) | Destination::Stream(_))) {
            return Ok(Form::Text);
        }
        match output.extension().and_then(|extension| extension.to_str()) {
            Some("ll") => Ok(Form::Text),
            Some("bc") => Ok(Form::Bitcode),
            _ => Err(Failure(format!(
                "{}: unknown kind of output; name a .ll or .bc file, or - for text on standard output",
                output.display()
            ))),
        }
    }

    fn write(self, module: &Module, output: &Path) -> Result<(), Failure> {
        match self {
            Form::StandardOutput => super::failure::print(&text(module))?,
            Form::Text => output_file::write(output, &text(module))?,
            Form::Bitcode => output_file::write(output, module.write_bitcode_to_memory().as_slice())?,
        }
        Ok(())
    }
}

fn text(module: &Module) -> Vec<u8> {
    module.print_to_string().to_bytes().to_vec()
}
