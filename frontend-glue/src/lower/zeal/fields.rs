//! Names of fields, for zeal's messages, as one text: from the debug information of a module about its structs, or
//! else from the module's descriptions of types (`type_description.rs`).
//!
//! ```text
//! Node 0 next 8 previous 16 value
//! Pair 0 first 8 second
//! ```
//!
//! Descriptors name types and not their fields, so the runtime looks a type up by its name: that of a struct, or of a
//! typedef of one. LLVM's C API lists no types, so they are read from the module as it is printed, where each node of
//! debug information has a line of its own. That is done once a module, under zeal and where a module keeps names alone.

use crate::llvm::Module;
use crate::llvm::metadata::Metadata;
use crate::lower::type_description::FIELDS;
use std::collections::HashMap;
use std::fmt::Write;

/// The constant that holds the text; sites refer to it.
pub(super) const TABLE: &str = "tally.fields";

/// Makes the text of a module that names fields. The runtime takes the first line of a type.
pub(in crate::lower) fn name_fields(module: Module) {
    let text = names_of_fields(module);
    if !text.is_empty() {
        module.text_global(&text).set_name(TABLE);
    }
}

/// The same text, for the record of a module that keeps names.
pub(in crate::lower) fn names_of_fields(module: Module) -> String {
    let has_debug_information = !module.named_metadata("llvm.dbg.cu").is_empty();
    let mut text = if has_debug_information { table(&module.print()) } else { String::new() };
    for line in module.named_metadata(FIELDS) {
        if let Metadata::Node(line) = line
            && let [Metadata::Text(line)] = &line[..]
        {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// A line for each struct with a name.
fn table(module: &str) -> String {
    let node = |line: &'_ str| {
        let (number, rest) = line.strip_prefix('!')?.split_once(" = ")?;
        Some((number.parse::<u64>().ok()?, rest.strip_prefix("distinct ").unwrap_or(rest).to_owned()))
    };
    let nodes: HashMap<u64, String> = module.lines().filter_map(node).collect();
    let mut lines: Vec<String> = nodes.values().filter_map(|it| line_of(&nodes, it)).collect();
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// The line for a struct or a typedef of one.
fn line_of(nodes: &HashMap<u64, String>, node: &str) -> Option<String> {
    let name = attribute(node, "name")?.trim_matches('"');
    let mut structure = node;
    // A chain of typedefs may have no end in a module that was written by hand.
    for _ in 0..8 {
        if !structure.starts_with("!DIDerivedType(tag: DW_TAG_typedef") {
            break;
        }
        structure = nodes.get(&reference(structure, "baseType")?)?;
    }
    if !structure.starts_with("!DICompositeType(tag: DW_TAG_structure_type") {
        return None;
    }
    let elements = nodes.get(&reference(structure, "elements")?)?;
    let members = elements.strip_prefix("!{")?.strip_suffix('}')?.split(", ");
    let members = members.filter_map(|it| nodes.get(&it.strip_prefix('!')?.parse().ok()?));
    let mut line = name.to_owned();
    for member in members.filter(|it| it.starts_with("!DIDerivedType(tag: DW_TAG_member")) {
        let bits = attribute(member, "offset").map_or(Some(0), |bits| bits.parse::<u64>().ok());
        if let (Some(field), Some(bits)) = (attribute(member, "name"), bits) {
            _ = write!(line, " {} {}", bits / 8, field.trim_matches('"'));
        }
    }
    Some(line + "\n")
}

fn reference(node: &str, key: &str) -> Option<u64> {
    attribute(node, key)?.strip_prefix('!')?.parse().ok()
}

/// The value of `key` in `!DI…(key: value, …)`. Names of types that hold a comma or a parenthesis are no names in C,
/// and are cut.
fn attribute<'a>(node: &'a str, key: &str) -> Option<&'a str> {
    let (_, fields) = node.split_once('(')?;
    let value = fields.split(", ").find_map(|field| field.strip_prefix(key)?.strip_prefix(": "))?;
    Some(value.trim_end_matches(')'))
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn structs_and_their_typedefs_are_listed_by_offset() {
        let module = r#"
!4 = !DIDerivedType(tag: DW_TAG_typedef, name: "Node", file: !5, line: 1, baseType: !6)
!6 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "node", file: !5, size: 128, elements: !7)
!7 = !{!8, !9}
!8 = !DIDerivedType(tag: DW_TAG_member, name: "next", scope: !6, baseType: !10, size: 64)
!9 = !DIDerivedType(tag: DW_TAG_member, name: "value", scope: !6, baseType: !11, size: 64, offset: 64)
!12 = !DIDerivedType(tag: DW_TAG_typedef, name: "Round", baseType: !12)
!13 = !DICompositeType(tag: DW_TAG_structure_type, name: "Opaque", flags: DIFlagFwdDecl)
!14 = !DICompositeType(tag: DW_TAG_union_type, name: "Either", elements: !7)
"#;
        assert_eq!(table(module), "Node 0 next 8 value\nnode 0 next 8 value\n");
    }
}
