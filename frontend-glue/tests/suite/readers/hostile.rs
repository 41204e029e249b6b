//! Hostile modules that are legal: whatever LLVM's verifier lets through is lowered and compiled, or refused in words.
//!
//! Each module is put together of oddities: values computed from themselves in dead code, lists of constructors of every
//! form, layouts, attributes, metadata on calls, landing pads, undefined behaviour that never runs. No command may hang,
//! panic, speak of a defect of its own, or end with status 0 and a module that LLVM refuses.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use std::path::Path;
use std::process::{Command, Output};
use tally_kit::damage::budget::each_input;
use tally_kit::damage::mutation::Mutation;
use tally_kit::tally_command::tally_word;

const HEADS: [&str; 9] = [
    "",
    "target datalayout = \"e-m:e-i64:64-f80:128-n8:16:32:64-S128\"\ntarget triple = \"x86_64\"\n",
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128\"\n",
    "target triple = \"x86_64-unknown-unknown\"\n",
    "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] undef\n",
    "@llvm.global_dtors = appending global [3 x %list] zeroinitializer\n",
    "@llvm.global_ctors = appending global [2 x %list] [%list undef, %list { i32 7, ptr @plain, ptr null }]\n",
    "@far = addrspace(1) global i8 0\n@llvm.used = appending global [1 x ptr addrspace(1)] [ptr addrspace(1) @far], section \"llvm.metadata\"\n",
    "@T = external constant i8\n!tally.types = !{!8}\n!8 = !{ptr @T, !\"size\", i64 16, !\"refs\", !{i32 0}, !\"fields\", !{i32 8, !\"value\"}}\n",
];

const ATTRIBUTES: [&str; 16] = [
    "",
    "",
    "",
    "noinline",
    "nounwind",
    "optnone noinline",
    "\"stack-probe-size\"=\"0\"",
    "\"stack-probe-size\"=\"1\" \"no-stack-arg-probe\"",
    "\"target-features\"=\"+retpoline\"",
    "\"target-features\"=\"+lvi-cfi,+avx2\"",
    "speculative_load_hardening",
    "\"instrument-function-entry\"=\"mcount\"",
    "\"instrument-function-exit-inlined\"=\"nonsense\"",
    "sanitize_alloc_token",
    "sspreq uwtable(sync)",
    "alignstack(64) \"frame-pointer\"=\"none\"",
];

/// Each is a part of a block; `N` is a number of its own, `%v` a pointer.
const STEPS: [&str; 21] = [
    "%aN = load ptr, ptr %v\n",
    "%aN = load ptr, ptr null\n",
    "store ptr %v, ptr %root\n",
    "call void @plain()\n",
    "call void @outside(ptr %v), !tbaa !0, !noalias.addrspace !3\n",
    "call fastcc void @managed(ptr %v, i1 %flag), !prof !4\n",
    "call void %v(ptr %v)\n",
    "call void @llvm.gcwrite(ptr %v, ptr %v, ptr %v)\n",
    "%aN = load ptr, ptr %local\ncall void @llvm.gcwrite(ptr %v, ptr %aN, ptr %aN)\n",
    "store ptr @constant, ptr %local\n",
    "store ptr null, ptr %local\n",
    "%aN = call ptr @tally_new(ptr @T)\nstore ptr %aN, ptr %root\n",
    "%aN = load ptr, ptr %local\nstore ptr %aN, ptr %root\n",
    "%aN = load i1, ptr %condition, !noundef !5\nbr i1 %aN, label %bN, label %cN\nbN:\ncall void @plain()\nbr label %cN\ncN:\n",
    "invoke void @outside(ptr %v) to label %bN unwind label %landing, !prof !6\nbN:\n",
    "%aN = call ptr @llvm.gcread(ptr %v, ptr %v)\nstore ptr %aN, ptr %local\n",
    "call void @plain() cold\n",
    "%aN = getelementptr i8, ptr %v, i64 8\ncall void @llvm.gcwrite(ptr null, ptr %v, ptr %aN)\n",
    "%aN = call i64 @strlen(ptr %v)\n",
    "%aN = getelementptr i8, ptr @variable, i64 3\ncall void @llvm.gcwrite(ptr %v, ptr %v, ptr %aN)\n",
    "tail call void @plain()\n",
];

/// What stands where no way leads.
const DEAD: [&str; 8] = [
    "%d1 = getelementptr i32, ptr %d1, i64 1\ncall void @llvm.gcwrite(ptr %v, ptr %d1, ptr %d1)\n",
    "%d2 = freeze ptr %d2\nstore ptr %d2, ptr %root\n",
    "%d3 = bitcast ptr %d4 to ptr\n%d4 = getelementptr i8, ptr %d3, i64 0\n%d5 = call ptr @llvm.gcread(ptr %d3, ptr %d4)\n",
    "%d6 = select i1 %flag, ptr %d6, ptr %root\nstore ptr %v, ptr %d6\n",
    "%d7 = load ptr, ptr %d7\ncall void @outside(ptr %d7)\n",
    "%d8 = call ptr @tally_new(ptr %d8)\n",
    "call void @llvm.gcwrite(ptr %v, ptr @variable, ptr null)\n",
    "%d9 = addrspacecast ptr addrspace(1) %d10 to ptr\n%d10 = addrspacecast ptr %d9 to ptr addrspace(1)\ncall void @llvm.gcwrite(ptr %d9, ptr %v, ptr %d9)\n",
];

const TAIL: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\ndeclare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)\ndeclare void @outside(ptr)\ndeclare i64 @strlen(ptr)\ndeclare i32 @__gcc_personality_v0(...)
@constant = constant [2 x i64] [i64 3, i64 5]\n@variable = global ptr null\n%list = type <{ i32, ptr, ptr }>
!0 = !{!1, !1, i64 0}\n!1 = !{!\"int\", !2}\n!2 = !{!\"root\"}\n!3 = !{i32 5, i32 6}\n!4 = !{!\"branch_weights\", i32 7}\n!5 = !{}
!6 = !{!\"branch_weights\", i32 7, i32 1}\n";

fn module(mutation: &mut Mutation) -> String {
    let pick = |mutation: &mut Mutation, from: &[&str]| from[mutation.below(from.len())].to_owned();
    let head = pick(mutation, &HEADS);
    let declared = if head.contains("@T = ") { "" } else { "@T = external constant i8\n" };
    let [of_plain, of_managed] = [(); 2].map(|()| pick(mutation, &ATTRIBUTES));
    let mut body = String::new();
    for number in 0..2 + mutation.below(10) {
        body += &pick(mutation, &STEPS).replace('N', &number.to_string());
    }
    let mut dead = String::new();
    let first = mutation.below(DEAD.len());
    for step in DEAD.iter().cycle().skip(first).take(mutation.below(4)) {
        dead += step;
    }
    let pads = ["{ ptr, i32 }", "{ i64, i64 }", "i32", "%list"];
    let pad = pads[mutation.below(8).saturating_sub(4)];
    format!(
        "{head}{declared}{TAIL}define void @plain() {of_plain} {{\n  ret void\n}}
define fastcc void @managed(ptr %v, i1 %flag) {of_managed} gc \"refcount\" personality ptr @__gcc_personality_v0 {{
%root = alloca ptr\n%local = alloca ptr\n%condition = alloca i1\ncall void @llvm.gcroot(ptr %root, ptr null)
{body}ret void\nlanding:\n%landed = landingpad {pad} cleanup\nresume {pad} %landed\ndead:\n{dead}br label %dead\n}}
define i32 @main() gc \"refcount\" {{\n  ret i32 0\n}}\n"
    )
}

/// At most 60 seconds of processor time: what takes more hangs.
fn tally(folder: &Path, arguments: &str) -> Output {
    let script = format!("ulimit -t 60; exec {} {arguments}", tally_word());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder).env("RUST_BACKTRACE", "0").output().unwrap()
}

fn is_valid(text: &[u8]) -> Result<(), String> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(&[text, &[0]].concat(), "text");
    let module = context.create_module_from_ir(buffer).map_err(|message| message.to_string())?;
    module.verify().map_err(|message| message.to_string())
}

#[test]
fn legal_modules_of_oddities_are_lowered_and_compiled_or_refused_in_words() {
    let (folder, mut lowered, mut refused) = (tempfile::tempdir().unwrap(), 0, 0);
    each_input("hostile modules", 5, |input| {
        let text = module(&mut Mutation::new(input));
        if is_valid(text.as_bytes()).is_err() {
            return;
        }
        std::fs::write(folder.path().join("odd.ll"), &text).unwrap();
        for plan in ["refcount", "refcount-prompt"] {
            let level = ["0", "1", "2", "3", "s"][input as usize % 5];
            for command in [
                "verify odd.ll".to_owned(),
                format!("lower --plan {plan} odd.ll -o out.ll"),
                format!("maps --plan {plan} --opt {level} odd.ll"),
                format!("lower --zeal --plan {plan} odd.ll -o out.ll"),
            ] {
                let Output { status, stderr, .. } = tally(folder.path(), &command);
                let message = String::from_utf8_lossy(&stderr);
                let says = |words: &str| message.contains(words);
                let is_ours =
                    says("not in order") || says("defect") || says("crashed") || says("gave up") || says("panicked");
                assert!(
                    matches!(status.code(), Some(0 | 2)) && !is_ours,
                    "input {input}: {command}: {status} {message}\n{text}"
                );
                assert!(status.success() || says("odd.ll: "), "input {input}: {command}: {message}");
                if status.success() {
                    lowered += 1
                } else {
                    refused += 1
                }
                if let Ok(written) = std::fs::read(folder.path().join("out.ll")) {
                    is_valid(&written).unwrap_or_else(|fault| panic!("input {input}: {command}: {fault}\n{text}"));
                    std::fs::remove_file(folder.path().join("out.ll")).unwrap();
                }
            }
        }
    });
    println!("  {lowered} times it went well, {refused} times it was refused");
    assert!(lowered > 0, "everything was refused");
}
