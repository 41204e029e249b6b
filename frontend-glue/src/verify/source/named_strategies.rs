//! Names that a frontend gives to strategies: what it is called elsewhere, and the plan of Tally's that it stands for.
//!
//! On the command line that is `--gc-name NAME=PLAN`; a module says it itself:
//!
//! ```text
//! !tally.strategy = !{!0}
//! !0 = !{!"semispace", !"trace"}
//! ```

use crate::diagnostic::Diagnostic;
use crate::llvm::Module;
use crate::llvm::metadata::Metadata;
use crate::lower::Plan;

/// The list of a module's names.
const LIST: &str = "tally.strategy";

/// The plan that a name stands for, by the command line or else by the module.
pub(super) fn plan_of(gc: &str, module: Module, gc_names: &[(String, Plan)]) -> Option<Plan> {
    let told = gc_names.iter().find(|(name, _)| name == gc).map(|(_, plan)| *plan);
    told.or_else(|| {
        module
            .named_metadata(LIST)
            .iter()
            .filter_map(|entry| read(entry).ok())
            .find(|(name, _)| name == gc)
            .map(|(_, plan)| plan)
    })
}

/// Entries that name no plan.
pub(super) fn errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let faults = module.named_metadata(LIST).into_iter().filter_map(|entry| read(&entry).err());
    let finding = |fault: String| {
        Diagnostic::about_module(name, format!("!{LIST}: {fault}")).help("write each entry as !{!\"NAME\", !\"PLAN\"}")
    };
    faults.map(finding).collect()
}

fn read(entry: &Metadata) -> Result<(String, Plan), String> {
    let Metadata::Node(words) = entry else { return Err("an entry is no node".into()) };
    match &words[..] {
        [Metadata::Text(name), Metadata::Text(plan)] => Ok((name.clone(), plan.parse()?)),
        _ => Err("an entry is no pair of a name and a plan".into()),
    }
}
