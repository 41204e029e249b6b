//! `cargo xtask bench build DIR`: the same workloads as up to three executables.
//!
//! `tally-deferred` and `tally-prompt` are benches/workloads through `tally build --opt 3`, once under each plan;
//! `hand-freed` is the same programs with `malloc` and with `free` written where a person would write it, through the
//! system's C compiler at -O3. Each takes the name of a workload and prints `NAME sum=S gap_us=G`: the sum proves that
//! all did the same work, the gap is the longest time between two ticks inside the program. None tears down at exit.

use crate::failure::{Failure, Outcome};
use crate::{process, run, setup, tree};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the workloads over Tally are written.
pub const WORKLOADS: &str = "benches/workloads";
/// Where the same workloads with hand-written frees are.
pub const HAND_FREED_WORKLOADS: &str = "benches/workloads/hand_freed";
/// The name of the executable that the others are compared with.
pub const HAND_FREED: &str = "hand-freed";

/// `cargo xtask bench build`
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder to leave the executables in (made if missing)
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    plans: Plans,
}

/// Which of Tally's plans take part.
#[derive(clap::Args)]
pub struct Plans {
    /// Tally's plan: deferred (objects die at the next epoch), prompt (when their last reference goes), or both
    #[arg(long, value_name = "PLAN", value_enum, default_value_t = PlanChoice::Both)]
    plan: PlanChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PlanChoice {
    Deferred,
    Prompt,
    Both,
}

/// A plan of Tally's, by the executable made with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The executable's name.
    pub executable: &'static str,
    /// What `tally build --plan` calls it.
    pub option: &'static str,
}

/// Objects die at the next epoch.
pub const DEFERRED: Plan = Plan { executable: "tally-deferred", option: "refcount" };
/// Objects die when their last reference goes.
pub const PROMPT: Plan = Plan { executable: "tally-prompt", option: "refcount-prompt" };
/// The trace plan, for whole programs.
pub const TRACE: Plan = Plan { executable: "tally-trace", option: "trace" };

/// Both plans.
pub const BOTH_PLANS: Plans = Plans { plan: PlanChoice::Both };

impl Plans {
    /// The chosen plans, in the order of the tables.
    pub fn chosen(&self) -> &'static [Plan] {
        match self.plan {
            PlanChoice::Deferred => &[DEFERRED],
            PlanChoice::Prompt => &[PROMPT],
            PlanChoice::Both => &[DEFERRED, PROMPT],
        }
    }
}

/// One of the executables.
#[derive(Debug)]
pub struct Executable {
    /// What the tables call it.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

/// Builds them and says where they are.
pub fn build(arguments: &Arguments) -> Outcome {
    for executable in build_into(&arguments.folder, &arguments.plans)? {
        println!("{}", executable.path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the hand-freed one and one for each chosen plan into `folder`; the hand-freed one comes first.
pub fn build_into(folder: &Path, plans: &Plans) -> Result<Vec<Executable>, Failure> {
    setup::ensure(setup::BUILD)?;
    let folder =
        std::path::absolute(folder).map_err(|error| Failure::unprepared(format!("{}: {error}", folder.display())))?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::unprepared(format!("cannot make the folder {}: {error}", folder.display())))?;
    let at = |name: &'static str| Executable { name, path: folder.join(name) };
    let mut built = vec![at(HAND_FREED)];
    let mut theirs = process::command("cc");
    theirs.arg("-O3").args(tree::files(HAND_FREED_WORKLOADS, &["c"])?);
    process::must_succeed(theirs.arg("-o").arg(&built[0].path))?;
    let tally = run::build_tally()?;
    for plan in plans.chosen() {
        let executable = at(plan.executable);
        let mut ours = process::command(&tally);
        ours.args(["build", "--opt", "3", "--plan", plan.option]).args(tree::files(WORKLOADS, &["c", "ll"])?);
        process::must_succeed(ours.arg("-o").arg(&executable.path))?;
        built.push(executable);
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, DEFERRED, PROMPT};
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn chosen(words: &[&str]) -> Result<&'static [super::Plan], clap::Error> {
        let line = Line::try_parse_from(["build", "folder"].iter().chain(words))?;
        Ok(line.arguments.plans.chosen())
    }

    #[test]
    fn plans_are_both_unless_one_is_named() {
        assert_eq!(chosen(&[]).expect("no plan is a choice"), [DEFERRED, PROMPT]);
        assert_eq!(chosen(&["--plan", "both"]).expect("both is one"), [DEFERRED, PROMPT]);
        assert_eq!(chosen(&["--plan", "deferred"]).expect("deferred is one"), [DEFERRED]);
        assert_eq!(chosen(&["--plan", "prompt"]).expect("prompt is one"), [PROMPT]);
    }

    #[test]
    fn unknown_plan_is_refused_with_the_names_of_the_others() {
        let refusal = chosen(&["--plan", "tracing"]).expect_err("there is no such plan").to_string();
        assert!(refusal.contains("deferred, prompt, both"), "{refusal}");
    }
}
