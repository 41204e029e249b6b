//! Which modules keep the names of fields and the lines of roots, for reports that say why objects are alive, and the places of calls, for
//! those that say where they were allocated.
//!
//! Those that ask, and those whose user wants it (`--names`, `tally run --why`, `tally run --alloc-sites`). The names are a text in the
//! module's record ([`tally_compiled::module::record::ModuleRecord::names`]). To find them the module is printed, so
//! others do without.

pub(super) mod call_sites;

use super::LowerOptions;
use super::module_record::ModuleTables;
use super::zeal::names_of_fields;
use crate::llvm::Module;

/// Functions whose reports name fields and lines.
const ASKING: [&str; 3] = ["tally_why_alive", "tally_referrers_of", "tally_cycle_report"];
/// Functions whose reports name places of calls.
const ASKING_FOR_CALLS: [&str; 2] = ["tally_alloc_site", "tally_alloc_sites"];

/// The options for this module.
pub(super) fn of(module: Module, options: &LowerOptions) -> LowerOptions {
    let asks = |name| module.function(name).is_some_and(|function| function.users().next().is_some());
    LowerOptions {
        names: options.names || ASKING.into_iter().any(asks),
        call_sites: options.names || ASKING_FOR_CALLS.into_iter().any(asks),
        ..options.clone()
    }
}

/// Notes the names of fields, and what makes the numbers of calls, as far as the module keeps them.
pub(super) fn keep(tables: &mut ModuleTables, module: Module, options: &LowerOptions) {
    if options.names {
        tables.names = names_of_fields(module);
    }
    tables.numbers_calls_of = options.call_sites.then(|| options.identity().to_owned());
}
