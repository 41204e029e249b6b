//! Link-time optimisation: the modules are lowered when they are compiled, and optimised once more by the linker.

use crate::workbench::{SUMS, link, listing, printed, succeeds, two_modules};
use tally_kit::folder::Folder;

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

/// Native code, which calls managed code and is called by it.
const PLAIN: &str = "\
#include <stdio.h>
long run(long);
long native(long);
long doubled(long value) { return native(value) + value; }
int main(void) { printf(\"%ld\\n\", run(100)); }
";
const NATIVE: &str = "long native(long value) { return value; }\n";
const MANAGED: &str = "\
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
long doubled(long);
long run(long many) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 1; i <= many; i++) {
        long value = doubled(i);
        Node *node = TALLY_NEW(Node);
        node->value = value;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    tally_collect();
    long sum = 0;
    for (; list; list = list->next) sum += list->value;
    return sum;
}
";

/// Its calls are inlined among roots, and functions with roots into it: none is lost.
fn links_beside_a_plain_file(kind: &str) {
    let folder = Folder::with(&[("plain.c", PLAIN), ("native.c", NATIVE), ("managed.c", MANAGED)]);
    let compile = format!("clang-22 -O2 -fPIC -flto={kind} -c");
    succeeds(&folder, &format!("{compile} -fpass-plugin=$so managed.c -o managed.o"));
    succeeds(&folder, "clang-22 -O2 -fPIC -c native.c -o native.o");
    for plugin in ["", "-fpass-plugin=$so "] {
        succeeds(&folder, &format!("{compile} {plugin}plain.c -o plain.o"));
        let imports = "-Wl,-mllvm,-import-instr-limit=1000";
        let objects = "managed.o plain.o native.o";
        link(&folder, &format!("-O2 -flto={kind} -Wl,--load-pass-plugin=$so {imports} {objects}"));
        assert_eq!(printed(&folder, true), "10100\n", "{kind} {plugin}");
        let main = listing("llvm-objdump-22 --disassemble-symbols=main", &folder.path("program"));
        assert!(
            main.contains("tally_collect") && !main.contains("<doubled>"),
            "all was inlined: {kind} {plugin}\n{main}"
        );
    }
}

#[test]
fn thin_with_a_file_that_has_nothing_of_tally() {
    links_beside_a_plain_file("thin");
}

#[test]
fn full_with_a_file_that_has_nothing_of_tally() {
    links_beside_a_plain_file("full");
}
