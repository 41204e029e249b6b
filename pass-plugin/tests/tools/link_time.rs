//! Link-time optimisation: the modules are lowered when they are compiled, and optimised once more by the linker.

use crate::workbench::{SUMS, link, printed, succeeds, two_modules};

fn links(kind: &str, level: &str, plugin: &str) {
    let folder = two_modules();
    let compile = format!("clang-22 {level} -fPIC -flto={kind} -fpass-plugin=$so -c");
    succeeds(&folder, &format!("{compile} library.c -o library.o"));
    succeeds(&folder, &format!("{compile} program.c -o program.o"));
    link(&folder, &format!("{level} -flto={kind} {plugin} library.o program.o"));
    assert_eq!(printed(&folder, true), SUMS, "{kind} {level} {plugin}");
}

#[test]
fn thin() {
    links("thin", "-O2", "-Wl,--load-pass-plugin=$so");
}

#[test]
fn full() {
    links("full", "-O2", "-Wl,--load-pass-plugin=$so");
}

/// The linker leaves stack maps read-only then.
#[test]
fn without_the_plugin_in_the_linker_text_relocations_are_needed() {
    links("thin", "-O2", "-Wl,-z,notext");
}
