//! Undefined symbols and the functions that need them: a linker's list in a form for the user.
//!
//! A linker names symbols and object files, and the objects are temporary ones of ours. The user wants the function
//! of the module, which the relocations tell. Both ways of linking (`aot.rs`, `jit.rs`) get the missing symbols from
//! their linker and find their users here; each adds its own advice.

use std::collections::BTreeSet;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationTarget, SymbolIndex, SymbolKind};

use crate::pipeline::Object;

/// More than these are only counted.
const LISTED_MAX: usize = 10;

/// `undefined symbols: sin (in @area of shapes.ll), cos (in @area and @turn of shapes.ll)`
pub(crate) fn sentence(symbols: &[String], objects: &[Object]) -> String {
    let listed: Vec<String> = symbols.iter().take(LISTED_MAX).map(|symbol| described(symbol, objects)).collect();
    let plural = if symbols.len() == 1 { "" } else { "s" };
    let more = match symbols.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("undefined symbol{plural}: {}{more}", listed.join(", "))
}

fn described(symbol: &str, objects: &[Object]) -> String {
    let users: Vec<String> = objects.iter().filter_map(|object| users_in(object, symbol)).collect();
    if users.is_empty() { symbol.to_owned() } else { format!("{symbol} (in {})", users.join(", ")) }
}

/// The functions of `object` that refer to `symbol`, if any does; a table of data is called one.
fn users_in(object: &Object, symbol: &str) -> Option<String> {
    let file = ElfFile64::<LittleEndian>::parse(&*object.bytes).ok()?;
    let wanted: SymbolIndex = file.symbols().find(|it| it.is_undefined() && it.name() == Ok(symbol))?.index();
    let mut users = BTreeSet::new();
    for section in file.sections() {
        let section_name = section.name().unwrap_or_default();
        if section_name.starts_with(".debug") || section_name == ".eh_frame" {
            continue;
        }
        let targets = section.relocations().filter(|(_, it)| it.target() == RelocationTarget::Symbol(wanted));
        users.extend(targets.map(|(offset, _)| {
            let around = file.symbols().find(|it| {
                it.section_index() == Some(section.index())
                    && matches!(it.kind(), SymbolKind::Text | SymbolKind::Data)
                    && (it.address()..it.address() + it.size()).contains(&offset)
            });
            match around.and_then(|it| it.name().ok().map(str::to_owned)) {
                // The user's `main` has this name in the object, which the user has not written.
                Some(name) => format!("@{}", name.strip_prefix("tally.main").map_or(&*name, |_| "main")),
                None => "its data".to_owned(),
            }
        }));
    }
    let names: Vec<String> = users.into_iter().collect();
    let (last, others) = names.split_last()?;
    let list = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("{list} of {}", object.file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;
    use crate::emit::level::Level;

    const CALLS: &str = "declare i32 @nowhere()\n@gone = external global i32\n@table = global [2 x ptr] [ptr null, ptr @gone]\n\
        define i32 @f() {\n  %x = call i32 @nowhere()\n  ret i32 %x\n}\n\
        define internal i32 @tally.main() {\n  %x = call i32 @nowhere()\n  ret i32 %x\n}\n@use = global ptr @tally.main\n";

    #[test]
    fn functions_and_data_that_need_a_symbol_are_named() {
        let bytes = emit::object_of_text(CALLS, Level::O0);
        let objects =
            [Object { file: "a.ll".into(), bytes, defines_main: false, warnings: Vec::new(), remarks: Vec::new() }];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            sentence(&names(&["nowhere", "gone"]), &objects),
            "undefined symbols: nowhere (in @f and @main of a.ll), gone (in @table of a.ll)"
        );
        assert_eq!(sentence(&names(&["unheard"]), &objects), "undefined symbol: unheard");
        let many: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
        assert!(sentence(&many, &objects).ends_with(", s9 and 2 more"));
    }
}
