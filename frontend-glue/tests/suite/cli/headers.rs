//! The C headers say what the runtime says: they compile under every C compiler that may meet them, and their constants
//! are the runtime's. (Offsets are asserted in the header itself.)

use std::process::Command;

use tally_kit::folder::Folder;

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../aot-runtime/include");

#[test]
fn tally_h_compiles_as_c_and_as_cpp_without_a_warning() {
    let folder = Folder::with(&[("a.c", "#include <tally.h>\n")]);
    let warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I", INCLUDE];
    for language in [["-std=c11", "-xc"], ["-std=c23", "-xc"], ["-std=c++11", "-xc++"]] {
        let compiled = Command::new("clang-22").args(warnings).args(language).arg(folder.path("a.c")).output().unwrap();
        assert!(compiled.status.success(), "{language:?}: {}", String::from_utf8_lossy(&compiled.stderr));
    }
}

#[test]
fn constants_of_tally_h_are_those_of_the_runtime() {
    use tally_compiled::module::{foreign_frames, record};
    use tally_heap::descriptor;
    use tally_heap::memory::range;
    let expected = [
        ("TALLY_HEAP_BASE", range::HEAP_BASE),
        ("TALLY_UNLOGGED_BASE", range::UNLOGGED_BASE),
        ("TALLY_UNLOGGED_BIAS", range::UNLOGGED_BIAS),
        ("TALLY_TYPE_VERSION", descriptor::DESCRIPTOR_VERSION.into()),
        ("TALLY_MODULE_VERSION", record::MODULE_VERSION.into()),
        ("TALLY_ACYCLIC", descriptor::FLAG_ACYCLIC.into()),
        ("TALLY_SLOT_POINTER", descriptor::SlotKind::Pointer as u64),
        ("TALLY_SLOT_TAGGED", descriptor::SlotKind::Tagged as u64),
        ("TALLY_SLOT_NAN_BOXED", descriptor::SlotKind::NanBoxed as u64),
        ("TALLY_SLOT_TRACE", descriptor::SlotKind::Trace as u64),
        ("TALLY_FRAMES_VERSION", foreign_frames::FRAMES_VERSION.into()),
        ("TALLY_FRAMES_STATEPOINTS", foreign_frames::FRAMES_STATEPOINTS.into()),
        ("TALLY_FRAMES_OCAML", foreign_frames::FRAMES_OCAML.into()),
        ("TALLY_FRAMES_ERLANG", foreign_frames::FRAMES_ERLANG.into()),
        ("TALLY_FRAMES_SHADOW_STACK", foreign_frames::FRAMES_SHADOW_STACK.into()),
        ("TALLY_MODULE_STATEPOINTS", record::MODULE_FLAG_STATEPOINTS.into()),
        ("TALLY_MODULE_BARRIERS", record::MODULE_FLAG_BARRIERS.into()),
        ("sizeof(tally_type)", size_of::<descriptor::TypeDescriptor>() as u64),
        ("sizeof(tally_module)", size_of::<record::ModuleRecord>() as u64),
        ("sizeof(tally_context_view)", tally_heap::context::CONTEXT_BYTES as u64),
    ];
    let checks: String = expected
        .iter()
        .map(|(name, value)| format!("_Static_assert(({name}) == {value}ul, \"{name} is not {value}\");\n"))
        .collect();
    let folder = Folder::with(&[("a.c", &format!("#include <tally.h>\n{checks}int main(void) {{ return 0; }}\n"))]);
    let outcome = folder.tally(&["run", "a.c"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
}
