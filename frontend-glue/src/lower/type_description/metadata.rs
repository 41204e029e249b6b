//! `!tally.types`: descriptors of a module as metadata, and the constants made of them.
//!
//! ```text
//! @Node = external constant i8
//! !tally.types = !{!0}
//! !0 = !{ptr @Node, !"size", i64 24, !"refs", !{i32 0, i32 8}, !"flags", !"acyclic"}
//! ```
//!
//! A description is the global and then pairs of a key and a value. An unknown or repeated key is an error: a
//! spelling mistake must not lose a reference. A module is described once, when it is loaded.

use crate::diagnostic::Diagnostic;
use crate::llvm::metadata::Metadata;
use crate::llvm::{HandleSet, Module, Value};
use crate::lower::LOWERED_FLAG;
use crate::lower::type_description::{Slots, TypeDescription};
use tally_heap::descriptor::{
    FLAG_ACYCLIC, FLAG_EPHEMERON, FLAG_FINALIZE_OWNER_FIRST, FLAG_FINALIZE_REGISTERED, FLAG_FINALIZE_REVERSE,
};

/// The list of a module's descriptions.
const LIST: &str = "tally.types";
/// The module flag of a module whose descriptors are defined.
const DEFINED_FLAG: &str = "tally.described";

const FLAGS: [(&str, u32); 5] = [
    ("acyclic", FLAG_ACYCLIC),
    ("ephemeron", FLAG_EPHEMERON),
    ("finalize-reverse", FLAG_FINALIZE_REVERSE),
    ("finalize-owner-first", FLAG_FINALIZE_OWNER_FIRST),
    ("finalize-registered", FLAG_FINALIZE_REGISTERED),
];

const KEYS: &str = "name, size, align, flags, slots, tag_mask, tag_pattern, pointer_mask, refs, plain_refs, ref_types, length, \
                    stride, element_refs, element_plain_refs, element_ref_types, finalize, trace, linkage, fields";

/// Defines the descriptors that the module describes.
pub(crate) fn define(module: Module, name: &str) -> Vec<Diagnostic> {
    let descriptions = module.named_metadata(LIST);
    if descriptions.is_empty() || module.has_flag(LOWERED_FLAG) || module.has_flag(DEFINED_FLAG) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut globals = HandleSet::default();
    let is_again = |of: &&Metadata| global_of(of).is_some_and(|global| !globals.insert(global));
    if let Some(again) = descriptions.iter().find(is_again).and_then(global_of) {
        let message = format!("!{LIST}: @{}: is described twice", again.name());
        return vec![Diagnostic::about_module(name, message)];
    }
    for (number, description) in descriptions.iter().enumerate() {
        let (who, done) = define_one(module, description);
        let who = who.map_or_else(|| format!("entry {number}"), |global| format!("@{global}"));
        findings.extend(done.err().map(|fault| Diagnostic::about_module(name, format!("!{LIST}: {who}: {fault}"))));
    }
    if findings.is_empty() {
        module.set_flag(DEFINED_FLAG, 1);
    }
    findings
}

/// The global that an entry of the list describes, and the pairs of keys and values.
fn parts(description: &Metadata) -> Result<(Value, &[Metadata]), &'static str> {
    let Metadata::Node(operands) = description else { return Err("is no node") };
    match operands.split_first() {
        Some((Metadata::Constant(global), pairs)) if global.is_global_variable() => Ok((*global, pairs)),
        _ => Err("begin with the address of the global: ptr @Node"),
    }
}

fn global_of(description: &Metadata) -> Option<Value> {
    parts(description).ok().map(|(global, _)| global)
}

/// Defines one descriptor; returns the global's name, if there is one, and the fault.
fn define_one(module: Module, description: &Metadata) -> (Option<String>, Result<(), String>) {
    let (global, pairs) = match parts(description) {
        Ok(parts) => parts,
        Err(fault) => return (None, Err(fault.into())),
    };
    let name = global.name();
    let done = describe(pairs).and_then(|description| description.define_in(module, &name));
    (Some(name), done)
}

/// Reads the pairs of keys and values.
fn describe(pairs: &[Metadata]) -> Result<TypeDescription, String> {
    let mut known = TypeDescription::default();
    let mut seen = Vec::new();
    let (mut slots, mut masks, mut trace) = ("pointer".to_owned(), [0; 3], None);
    for pair in pairs.chunks(2) {
        let [Metadata::Text(key), value] = pair else {
            return Err("after the global come pairs of a key and a value: !\"size\", i64 16".into());
        };
        if seen.contains(key) {
            return Err(format!("the key \"{key}\" stands there twice"));
        }
        seen.push(key.clone());
        let wrong = |what: &str| format!("the value of \"{key}\" is {what}");
        match key.as_str() {
            "name" => known.name = text(value).map_err(wrong)?,
            "size" => known.size = number(value).map_err(wrong)?,
            "align" => known.align = small(value).map_err(wrong)?,
            "flags" => known.flags = flags(value)?,
            "slots" => slots = text(value).map_err(wrong)?,
            "tag_mask" => masks[0] = number(value).map_err(wrong)?,
            "tag_pattern" => masks[1] = number(value).map_err(wrong)?,
            "pointer_mask" => masks[2] = number(value).map_err(wrong)?,
            "refs" => known.refs = list(value, small).map_err(wrong)?,
            "plain_refs" => known.plain_refs = list(value, small).map_err(wrong)?,
            "ref_types" => known.ref_types = list(value, address_or_null).map_err(wrong)?,
            "length" => known.length = number(value).map_err(wrong)?,
            "stride" => known.stride = number(value).map_err(wrong)?,
            "element_refs" => known.element_refs = list(value, small).map_err(wrong)?,
            "element_plain_refs" => known.element_plain_refs = list(value, small).map_err(wrong)?,
            "element_ref_types" => known.element_ref_types = list(value, address_or_null).map_err(wrong)?,
            "finalize" => known.finalize = address_or_null(value).map_err(wrong)?,
            "trace" => trace = address_or_null(value).map_err(wrong)?,
            "fields" => known.fields = fields(value).map_err(wrong)?,
            "linkage" => known.exported = exported(&text(value).map_err(wrong)?)?,
            _ => return Err(format!("the key \"{key}\" is not known; known are {KEYS}")),
        }
    }
    if !seen.iter().any(|key| key == "size") {
        return Err("the key \"size\" is missing: the bytes of the fixed part".into());
    }
    known.slots = how_slots_are_read(&slots, masks, trace)?;
    Ok(known)
}

fn how_slots_are_read(kind: &str, [mask, pattern, pointer]: [u64; 3], trace: Option<String>) -> Result<Slots, String> {
    let has_masks = [mask, pattern, pointer] != [0; 3];
    match (kind, trace) {
        ("trace", Some(function)) if !has_masks => Ok(Slots::Trace(function)),
        ("trace", None) => Err("\"slots\" is \"trace\", and the key \"trace\" names no function".into()),
        ("pointer", None) if !has_masks => Ok(Slots::Pointer),
        ("tagged" | "nan-boxed", None) => Ok(Slots::Tagged { mask, pattern, pointer, nan_boxed: kind == "nan-boxed" }),
        ("tag-before" | "tag-behind", None) => {
            Ok(Slots::Pairs { mask, pattern, pointer, is_behind: kind == "tag-behind" })
        }
        ("pointer" | "tagged" | "nan-boxed" | "tag-before" | "tag-behind", Some(_)) => {
            Err(format!("the key \"trace\" names a function, and \"slots\" is \"{kind}\""))
        }
        ("pointer" | "trace", _) => Err(format!("masks are of no use where \"slots\" is \"{kind}\"")),
        _ => Err(format!(
            "the value of \"slots\" is \"{kind}\"; known are pointer, tagged, nan-boxed, tag-before, tag-behind, trace"
        )),
    }
}

fn text(value: &Metadata) -> Result<String, &'static str> {
    match value {
        Metadata::Text(text) => Ok(text.clone()),
        _ => Err("no text"),
    }
}

fn number(value: &Metadata) -> Result<u64, &'static str> {
    match value {
        Metadata::Constant(constant) => constant.constant_integer().ok_or("no number of at most 64 bits"),
        _ => Err("no number"),
    }
}

fn small(value: &Metadata) -> Result<u32, &'static str> {
    u32::try_from(number(value)?).map_err(|_| "a number of more than 32 bits")
}

fn list<T>(value: &Metadata, read: fn(&Metadata) -> Result<T, &'static str>) -> Result<Vec<T>, &'static str> {
    match value {
        Metadata::Node(entries) => entries.iter().map(read).collect(),
        _ => Err("no list: !{i32 0, i32 8}"),
    }
}

/// Pairs of an offset and a name.
fn fields(value: &Metadata) -> Result<Vec<(u32, String)>, &'static str> {
    const WRONG: &str = "no list of offsets and names: !{i32 0, !\"next\", i32 8, !\"value\"}";
    let Metadata::Node(entries) = value else { return Err(WRONG) };
    let pair = |pair: &[Metadata]| match pair {
        [offset, name] => Ok((small(offset).map_err(|_| WRONG)?, text(name).map_err(|_| WRONG)?)),
        _ => Err(WRONG),
    };
    entries.chunks(2).map(pair).collect()
}

/// The name of a function or global.
fn address_or_null(value: &Metadata) -> Result<Option<String>, &'static str> {
    let has_name = |constant: Value| constant.is_function() || constant.is_global_variable();
    match value {
        Metadata::Nothing => Ok(None),
        Metadata::Constant(constant) if constant.is_null() => Ok(None),
        Metadata::Constant(constant) if has_name(*constant) => Ok(Some(constant.name())),
        _ => Err("no address of a function or global"),
    }
}

fn flags(value: &Metadata) -> Result<u32, String> {
    let names = match value {
        Metadata::Text(name) => vec![name.clone()],
        names => list(names, text).map_err(|_| "the value of \"flags\" is no name of a flag, and no list of such")?,
    };
    let known = FLAGS.map(|(name, _)| name).join(", ");
    names.iter().try_fold(0, |sum, name| {
        let flag = FLAGS.iter().find(|(known, _)| known == name).map(|(_, flag)| flag);
        Ok(sum | flag.ok_or_else(|| format!("the flag \"{name}\" is not known; known are {known}"))?)
    })
}

fn exported(linkage: &str) -> Result<bool, String> {
    match linkage {
        "external" => Ok(true),
        "internal" => Ok(false),
        _ => Err(format!("the value of \"linkage\" is \"{linkage}\"; known are external, internal")),
    }
}
