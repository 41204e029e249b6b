//! Code for RISC-V, as far as it shows without an emulator: attributes, relocations, the places of roots.

use stack_roots::stack_map;
use tally_kit::folder::{Folder, Outcome};
use tally_llvm::emit::object_file::{self, MapFormat};
use tally_llvm::emit::target::Target;
use tally_llvm::pipeline::{self, CompileOptions};

use object::{Object as _, ObjectSection as _};

const TARGET: &str = "--target=riscv64gc-unknown-linux-gnu";

/// A variadic function and one of varying size, each with a root; the first was compiled for a machine that has more.
const MODULE: &str = r#"declare void @llvm.gcroot(ptr, ptr)
declare void @work(ptr)
define void @variadic(ptr %list, ...) #0 gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  call void @work(ptr %list)
  %kept = load ptr, ptr %root
  call void @work(ptr %kept)
  ret void
}
define void @varies(ptr %list, i64 %bytes) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %room = alloca i8, i64 %bytes
  call void @work(ptr %room)
  %kept = load ptr, ptr %root
  call void @work(ptr %kept)
  ret void
}
attributes #0 = { "target-features"="+m,+a,+f,+d,+c,+relax,+zcmp,+save-restore" }
"#;

fn folder() -> Folder {
    Folder::with(&[("program.ll", MODULE)])
}

#[test]
fn linker_and_registers_that_one_instruction_saves_are_taken_from_functions_with_roots() {
    let lowered = folder().tally(&["lower", TARGET, "program.ll", "-o", "-"]);
    assert_eq!(lowered.status, Some(0), "{lowered:?}");
    assert!(lowered.stdout.contains("target triple = \"riscv64-unknown-linux-gnu\""), "{}", lowered.stdout);
    let features = lowered.stdout.lines().find(|line| line.contains("+save-restore")).expect("the features stay");
    for feature in ["-relax", "-save-restore", "-zcmp", "-xqccmp", "-zve32x"] {
        assert!(features.split(&[',', '"'][..]).any(|it| it == feature), "{feature}: {features}");
    }
}

#[test]
fn return_addresses_do_not_move_when_the_object_is_linked() {
    let folder = folder();
    let options = CompileOptions { target: Target::RiscV64, maps: MapFormat::Llvm, ..CompileOptions::default() };
    let object = pipeline::compile(&[folder.path("program.ll")], &options).unwrap().remove(0).bytes;
    let file = object_file::parse(&object).unwrap();
    assert_eq!(object_file::target_of(&file), Target::RiscV64);
    let is_relaxed = |flags| matches!(flags, object::RelocationFlags::Elf { r_type: object::elf::R_RISCV_RELAX });
    let relocations = file.sections().flat_map(|section| section.relocations().collect::<Vec<_>>());
    assert!(!relocations.into_iter().any(|(_, relocation)| is_relaxed(relocation.flags())));
    let section = file.section_by_name(object_file::STACK_MAPS).expect("LLVM's format");
    // Only addresses of functions are relocated: distances of calls from there are final.
    let kinds = section.relocations().map(|(_, relocation)| relocation.flags());
    let is_address = |flags| matches!(flags, object::RelocationFlags::Elf { r_type: object::elf::R_RISCV_64 });
    assert!(kinds.into_iter().all(is_address));
    let map = stack_map::read(section.data().unwrap()).unwrap();
    // The record without locations only makes the section.
    let mut calls = map.records().filter(|record| record.location_count() > 0);
    assert!(calls.all(|record| record.instruction_offset > 0));
}

#[test]
fn slots_are_listed_by_names_of_riscv_registers() {
    let listed = folder().tally(&["maps", TARGET, "program.ll"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let count = |name: &str| listed.stdout.lines().filter(|line| line.contains(name)).count();
    assert!(count("[s0-") + count("[sp+") >= 2, "{}", listed.stdout);
    assert!(!listed.stdout.contains("rbp") && !listed.stdout.contains("rsp"), "{}", listed.stdout);
}

#[test]
fn scalable_vectors_of_riscv_are_refused_by_name() {
    let text =
        "define <vscale x 2 x i64> @f(<vscale x 2 x i64> %v) gc \"refcount\" {\n  ret <vscale x 2 x i64> %v\n}\n";
    let folder = Folder::with(&[("vectors.ll", text)]);
    let Outcome { status, stderr, .. } = folder.tally(&["verify", TARGET, "vectors.ll"]);
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("no RISC-V code") && stderr.contains("the V extension"), "{stderr}");
}

/// LLVM passes a `double` in a floating-point register where the call has a bundle, and `printf` looks elsewhere.
#[test]
fn number_that_a_safepoint_passes_to_a_variadic_function() {
    let text = "declare i32 @printf(ptr, ...)\ndefine i32 @f(ptr %p, double %fixed, double %x) gc \"refcount\" {\n  \
        %r = call i32 (ptr, ...) @printf(ptr %p, double %x)\n  ret i32 %r\n}\n";
    let folder = Folder::with(&[("number.ll", text)]);
    let lowered = folder.tally(&["lower", TARGET, "number.ll", "-o", "-"]);
    assert!(lowered.stdout.contains("bitcast double %x to i64"), "{lowered:?}");
    let host = folder.tally(&["lower", "number.ll", "-o", "-"]);
    assert!(host.stdout.contains("@printf(ptr %p, double %x)"), "{host:?}");
}

#[test]
fn wide_arguments_of_variadic_safepoints_are_refused() {
    for of in ["fp128", "i128", "{ i64, double }"] {
        let text = format!(
            "declare i32 @printf(ptr, ...)\ndefine i32 @f(ptr %p, {of} %x) gc \"refcount\" {{\n  \
             %r = call i32 (ptr, ...) @printf(ptr %p, {of} %x)\n  ret i32 %r\n}}\n"
        );
        let folder = Folder::with(&[("wide.ll", &text)]);
        let refused = folder.tally(&["lower", TARGET, "wide.ll", "-o", "-"]);
        assert_eq!(refused.status, Some(2), "{of}: {refused:?}");
        assert!(refused.stderr.contains(&format!("a variable argument of type {of} at a safepoint")), "{refused:?}");
        assert_eq!(folder.tally(&["lower", "wide.ll", "-o", "-"]).status, Some(0));
    }
}
