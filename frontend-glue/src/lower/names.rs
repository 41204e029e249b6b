//! Which modules keep the names of fields and the lines of roots, for reports that say why objects are alive.
//!
//! Those that ask why, and those whose user wants it (`--names`, `tally run --why`). The names are a text in the
//! module's record ([`tally_compiled::module::record::ModuleRecord::names`]). To find them the module is printed, so
//! others do without.

use super::LowerOptions;
use super::zeal::names_of_fields;
use crate::llvm::Module;

/// Functions whose reports name fields and lines.
const ASKING: [&str; 2] = ["tally_why_alive", "tally_referrers_of"];

/// The options for this module.
pub(super) fn of(module: Module, options: &LowerOptions) -> LowerOptions {
    let asks = |name| module.function(name).is_some_and(|function| function.users().next().is_some());
    LowerOptions { names: options.names || ASKING.into_iter().any(asks), ..options.clone() }
}

/// The names of fields, if the module keeps them.
pub(super) fn of_fields(module: Module, options: &LowerOptions) -> String {
    if options.names { names_of_fields(module) } else { String::new() }
}
