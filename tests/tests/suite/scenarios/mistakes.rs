//! Mistakes of a program that zeal names: references that are none, writes past an object's end, counts taken down once
//! too often.

use std::ffi::OsString;
use tally_kit::tally_command::{describe, run_tally};

const NODES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next, *other; long value; } Node;
TALLY_TYPE(Node, next, other);
typedef struct Text { uint64_t length; char letters[]; } Text;
TALLY_DATA_ARRAY_TYPE(Text, length, letters);
typedef struct Wide { char line[64]; } __attribute__((aligned(64))) Wide;
TALLY_TYPE(Wide);
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void work(void) {
    for (int i = 0; i < 50; i++) node(i);
    tally_collect();
}
int main(void) {
    Node *first = node(1);
    TALLY_ROOT(first);
    Node *second = node(2);
    TALLY_ROOT(second);
"#;

const BOTH: [&str; 2] = ["refcount", "refcount-prompt"];

/// Runs the statements after two objects were made, under zeal.
fn run(plan: &str, level: &str, statements: &str) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.c");
    let program = format!("{NODES}{statements}\n    printf(\"%ld %ld\\n\", first->value, second->value);\n}}\n");
    std::fs::write(&file, program).expect("the folder can be written to");
    let arguments = ["run", "--zeal", "--plan", plan, "--opt", level].map(OsString::from);
    run_tally(&[&arguments[..], &[file.into()]].concat(), &[])
}

/// Each is stopped with status 5, and a message that holds all these words.
fn is_named(plans: &[&str], statements: &str, words: &[&str]) {
    for plan in plans {
        let output = run(plan, "2", statements);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let right = output.status.code() == Some(5) && words.iter().all(|word| message.contains(word));
        assert!(right, "{plan}, {statements}: {words:?} expected: {}", describe(&output));
    }
}

/// scenario 147: an address inside an object, or just past its end, that is stored where references belong.
#[test]
fn pointers_into_an_object_that_are_stored_like_references() {
    let field = "TALLY_WRITE(first, next, (Node *)&second->value); work();";
    is_named(&BOTH, field, &["HEADER", "refers to", "byte 16 of the `Node`"]);
    let past = "TALLY_WRITE(first, next, second + 1); work();";
    is_named(&BOTH, past, &["HEADER", "refers to", "just past the end of the `Node`"]);
    let root = "Node *inside = (Node *)&first->value; TALLY_ROOT(inside); work(); second->value = inside->value;";
    is_named(&BOTH, root, &["ROOT", "root `inside` of function", "byte 16 of the `Node`"]);
}

/// scenario 150: a write past the end of an object, into the header of the next.
#[test]
fn writes_past_the_end_of_an_object() {
    let header = "((long *)first)[3] = 0x4141414141414141; work();";
    is_named(
        &BOTH,
        header,
        &[
            "HEADER",
            "the header of the `Node`",
            "ends 8 bytes before it",
            "beyond its end? It was made",
            "likely: a loop or copy",
        ],
    );
    let length = "Text *text = TALLY_NEW_ARRAY(Text, 5); TALLY_ROOT(text); text->length = 500; work(); second->value = text->length;";
    is_named(
        &BOTH,
        length,
        &["HEADER", "the length of the `Text`", "it is 500 now", "likely: the program stores to the length"],
    );
}

/// scenario 150: a write past the end of an object, to where no object is yet: padding, a free cell, the rest of a large one's block.
#[test]
fn writes_past_the_end_of_an_object_into_free_memory() {
    let text = |length: &str, statement: &str| {
        format!(
            "Text *text = TALLY_NEW_ARRAY(Text, {length}); TALLY_ROOT(text); {statement} work(); second->value = text->length;"
        )
    };
    let long =
        text("8", "strcpy(text->letters, first->value ? \"a text that is much longer than eight letters\" : \"\");");
    let made = "program.c:27: in function `main`";
    is_named(
        &BOTH,
        &long,
        &["HEADER", "the `Text` at", "was written past its end: byte 0 behind it is 0x68 now", made],
    );
    let zero = text("5", "text->letters[first->value + 4] = 0;");
    is_named(
        &BOTH,
        &zero,
        &["HEADER", "the `Text` at", "was written past its end: byte 0 behind it is 0x00 now", made],
    );
    let large = text("100001", "text->letters[100003 * first->value] = 7;");
    is_named(
        &BOTH,
        &large,
        &["HEADER", "the `Text` at", "was written past its end: byte 2 behind it is 0x07 now", made],
    );
    let dead = text("8", "TALLY_NEW_ARRAY(Text, 8); work(); memset(text->letters, 0x41, 23 + first->value);");
    let after = ["HEADER", "the `Text` at", "was written past its end", made];
    is_named(&BOTH, &dead, &after);
    let only_dead = text("8", "TALLY_NEW_ARRAY(Text, 8); work(); strcpy(text->letters + 20 + first->value, \"x\");");
    let words = [
        "HEADER",
        "which is dead, was written to: its byte 5 is 0x78 now",
        "lies before it and was written past its end",
        made,
    ];
    is_named(&BOTH, &only_dead, &words);
    let aligned = "Wide *wide = TALLY_NEW(Wide); TALLY_ROOT(wide); Wide *other = TALLY_NEW(Wide); TALLY_ROOT(other); \
        wide->line[64 * first->value] = 1; work(); second->value = wide->line[0] + other->line[0];";
    is_named(
        &BOTH,
        aligned,
        &["HEADER", "the `Wide` at", "was written past its end: byte 0 behind it is 0x01 now", made],
    );
}

/// The same memory, written to as it may be: to the last byte of what was asked for.
#[test]
fn writes_up_to_the_end_of_an_object() {
    let statements = "for (int n = 0; n < 40; n++) {
        Text *text = TALLY_NEW_ARRAY(Text, n * n * n); TALLY_ROOT(text);
        Wide *wide = TALLY_NEW(Wide); TALLY_ROOT(wide);
        memset(text->letters, 0x41, n * n * n); memset(wide->line, 0x42, 64);
        Text *other = TALLY_NEW_ARRAY(Text, n); TALLY_ROOT(other);
        memset(other->letters, 0x43, n);
        node(n);
        first->value += text->length;
    }";
    for plan in BOTH {
        let output = run(plan, "2", statements);
        assert!(output.status.success() && output.stdout == b"608401 2\n", "{plan}: {}", describe(&output));
    }
}

/// scenario 153: addresses of the heap's range where no object is are no references; all other addresses may stand for data.
#[test]
fn addresses_where_no_object_is_and_addresses_outside_the_heap() {
    // Beyond the memory that has tables the prompt plan's counting faults at the write itself.
    for (address, plans) in [("0x200012345678", &BOTH[..]), ("0x20ff00000008", &BOTH[..1])] {
        let statements = format!("TALLY_WRITE(first, next, (Node *){address}); work();");
        is_named(plans, &statements, &[address, "where no object is"]);
        let statements = format!("Node *odd = (Node *){address}; TALLY_ROOT(odd); work(); first->next = odd;");
        is_named(&BOTH[..1], &statements, &["ROOT", "root `odd` of function", address]);
    }
    let outside = "static Node constant = {0, 0, 7};
    Node local = {0, 0, 8}, *other = &local;
    TALLY_ROOT(other);
    TALLY_WRITE(first, next, &constant);
    TALLY_WRITE(first, other, malloc(sizeof(Node)));
    TALLY_WRITE(second, next, (Node *)-8L);
    TALLY_WRITE(second, other, (Node *)(1L << 60));
    work();
    first->value += first->next->value + other->value;";
    for plan in BOTH {
        for level in ["0", "2"] {
            let output = run(plan, level, outside);
            assert!(output.status.success() && output.stdout == b"16 2\n", "{plan}: {}", describe(&output));
        }
    }
}

/// scenario 138: a frontend of its own that takes a count down once too often.
#[test]
fn count_that_is_taken_down_once_too_often() {
    let statements =
        "TALLY_WRITE(second, next, first); work(); tally_decrement((uint64_t)(uintptr_t)first); work(); work();
    TALLY_WRITE(second, next, (Node *)NULL); work();";
    is_named(&["refcount-prompt"], statements, &["`Node`"]);
}
