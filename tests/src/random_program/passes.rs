//! A program's IR as an optimising frontend would make it: LLVM's function passes run before Tally gets it.
//!
//! Clang's IR for C has every variable in an alloca. After SROA, GVN, LICM and unrolling references sit in phis,
//! selects and vectors. The passes are function passes, and the inliner: with facts about a *callee* (that it only
//! reads, say) LLVM could keep a reference in a register across a call, and that breaks the contract.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tally_kit::dice::Dice;
use tally_kit::tally_command::{describe, run};

/// The clang that belongs to the LLVM that Tally uses.
pub const CLANG: &str = "clang-22";
const OPT: &str = "opt-22";

/// Without `newgvn`, which no pipeline of LLVM has: twice in a function, it miscompiles these programs also without Tally.
const PASSES: [&str; 21] = [
    "sroa",
    "mem2reg",
    "early-cse<memssa>",
    "instcombine<no-verify-fixpoint>",
    "simplifycfg",
    "simplifycfg<hoist-common-insts;sink-common-insts>",
    "gvn",
    "jump-threading",
    "dse",
    "adce",
    "reassociate",
    "sink",
    "gvn-hoist",
    "loop-mssa(licm)",
    "loop(loop-rotate)",
    "loop-unroll",
    "loop(indvars)",
    "loop-mssa(simple-loop-unswitch<nontrivial>)",
    "loop-vectorize",
    "slp-vectorizer",
    "tailcallelim",
];

/// Functions whose callers are managed, as `tally` marks them for C, and so are the callers of those.
const ROOTING: [&str; 7] = [
    "llvm.gcroot",
    "llvm.gcwrite",
    "llvm.gcread",
    "tally_gcwrite_i64",
    "tally_new",
    "tally_new_array",
    "tally_safepoint",
];

/// A random pipeline for `opt`.
pub fn pipeline(dice: &mut Dice) -> String {
    let mut passes: Vec<&str> = Vec::new();
    if dice.one_in(3) {
        return "cgscc(inline),function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)".to_owned();
    }
    if !dice.one_in(4) {
        passes.push("sroa");
    }
    for _ in 0..1 + dice.below(8) {
        passes.push(*dice.pick(&PASSES));
    }
    // Tally refuses a write into a null object. Passes leave some behind branches that are never taken; this removes
    // them.
    passes.extend(["instcombine<no-verify-fixpoint>", "simplifycfg"]);
    let functions = format!("function({})", passes.join(","));
    if dice.one_in(3) { format!("cgscc(inline),{functions}") } else { functions }
}

/// Compiles the C file to IR, marks its managed functions, and runs the passes; returns the path of the result. A
/// file of IR is not changed before the passes.
///
/// # Errors
/// The message of clang or opt.
pub fn optimise(place: &Path, pipeline: &str) -> Result<PathBuf, String> {
    let done = place.with_extension("opt.ll");
    let raw = if place.extension().is_some_and(|kind| kind == "ll") { place.to_owned() } else { compile(place, &[])? };
    let arguments =
        [OsString::from("-S"), format!("-passes={pipeline}").into(), raw.into(), "-o".into(), done.clone().into()];
    tool(OPT, &arguments)?;
    Ok(done)
}

/// Compiles the C file to IR and marks its managed functions; returns the path of the result.
///
/// # Errors
/// The message of clang.
pub fn compile(place: &Path, options: &[&str]) -> Result<PathBuf, String> {
    let raw = place.with_extension("raw.ll");
    let headers = place.with_extension("headers");
    std::fs::create_dir_all(&headers).map_err(|error| error.to_string())?;
    for name in ["tally.h", "tally_gc.h"] {
        let from = tally_kit::tally_command::source_tree().join("aot-runtime/include").join(name);
        std::fs::copy(from, headers.join(name)).map_err(|error| error.to_string())?;
    }
    let mut arguments: Vec<OsString> =
        ["-S", "-emit-llvm", "-O1", "-w", "-fPIC", "-Xclang", "-disable-llvm-passes", "-Xclang"]
            .map(OsString::from)
            .to_vec();
    arguments.extend(["-disable-llvm-verifier", "-I"].map(OsString::from));
    arguments.push(headers.into());
    arguments.extend(options.iter().map(OsString::from));
    arguments.extend([place.into(), OsString::from("-o"), raw.clone().into()]);
    tool(CLANG, &arguments)?;
    let text = std::fs::read_to_string(&raw).map_err(|error| error.to_string())?;
    std::fs::write(&raw, mark(&with_intrinsics(&text))).map_err(|error| error.to_string())?;
    Ok(raw)
}

fn tool(name: &str, arguments: &[OsString]) -> Result<(), String> {
    let output = run(Path::new(name), arguments, &[]);
    if output.status.success() { Ok(()) } else { Err(format!("{name} fails: {}", describe(&output))) }
}

/// The text with LLVM's intrinsics in place of the names that `tally_gc.h` gives them, and without its undefined variable.
fn with_intrinsics(text: &str) -> String {
    const UNLOWERED: &str = ", not lowered: compile with -fpass-plugin=libtally_pass.so, or by `tally build`\"";
    let mut text = text.replace(
        &format!("@\"tally_gc.h{UNLOWERED} = external constant [0 x i8]"),
        "@tally_gc.h = internal constant [0 x i8] zeroinitializer",
    );
    text = text.replace(&format!("@\"tally_gc.h{UNLOWERED}"), "@tally_gc.h");
    for name in ["gcroot", "gcwrite", "gcread"] {
        text = text.replace(&format!("@\"{name}{UNLOWERED}"), &format!("@llvm.{name}"));
    }
    text
}

/// Gives `gc "refcount"` to the functions of textual IR that `tally` would mark in C.
fn mark(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions: Vec<(usize, &str, Vec<&str>)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("define ") {
            functions.push((number, name_at(line).unwrap_or(""), Vec::new()));
        } else if let (Some((_, _, calls)), Some((_, call))) = (functions.last_mut(), call_in(line)) {
            calls.extend(name_at(call));
        }
    }
    let mut marked: Vec<&str> = ROOTING.to_vec();
    loop {
        let before = marked.len();
        for (_, name, calls) in &functions {
            if !marked.contains(name) && calls.iter().any(|call| marked.contains(call)) {
                marked.push(name);
            }
        }
        if marked.len() == before {
            break;
        }
    }
    let mut result = String::new();
    for (number, line) in lines.iter().enumerate() {
        let is_marked = functions.iter().any(|(place, name, _)| *place == number && marked.contains(name));
        if is_marked && line.ends_with(" {") {
            // A personality comes last.
            let head = &line[..line.len() - 2];
            let (head, personality) = head.split_at(head.find(" personality ").unwrap_or(head.len()));
            result.push_str(&format!("{head} gc \"refcount\"{personality} {{"));
        } else {
            result.push_str(line);
        }
        result.push('\n');
    }
    result
}

/// The text before and after the word of a call.
fn call_in(line: &str) -> Option<(&str, &str)> {
    line.split_once("call ").or_else(|| line.split_once("invoke "))
}

/// The first `@name(` of a text.
fn name_at(text: &str) -> Option<&str> {
    let rest = &text[text.find('@')? + 1..];
    Some(&rest[..rest.find('(')?])
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn callers_of_rooting_functions_are_marked_and_others_are_not() {
        let text = "define void @a() {\n  call void @llvm.gcroot(ptr %r, ptr null)\n}\n\
                    define i32 @b(ptr %f) #0 {\n  %x = call i32 %f(ptr @a)\n}\n\
                    define void @c() #1 {\n  call void @a()\n}\n";
        let marked = mark(text);
        assert!(marked.contains("define void @a() gc \"refcount\" {"), "{marked}");
        assert!(marked.contains("define i32 @b(ptr %f) #0 {"), "{marked}");
        assert!(marked.contains("define void @c() #1 gc \"refcount\" {"), "{marked}");
    }
}
