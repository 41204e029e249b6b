//! Writes that break rule 6 of the IR contract are named at the write, with function and line, under both plans.

use super::{PLANS, run};
use tally_kit::tally_command::describe;

const TYPES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next, *undescribed; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Nodes { uint64_t length; Node *at[]; } Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);
/* What `tally verify` does not see through. */
__attribute__((noinline)) static void *hidden(const void *it) { return (void *)it; }
static Node *node(long value) { Node *made = TALLY_NEW(Node); made->value = value; return made; }
int main(void) {
    Node *first = node(1);
    TALLY_ROOT(first);
    Node *second = node(2);
    TALLY_ROOT(second);
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 3);
    TALLY_ROOT(nodes);
"#;

/// Runs one statement after the objects were made; it stands on line 20.
fn outcome(plan: &str, level: &str, statement: &str) -> std::process::Output {
    let rest = "    node(3);\n    printf(\"%ld %ld %lu\\n\", first->value, second->value, nodes->length);\n}\n";
    run(plan, level, "program.c", &format!("{TYPES}    {statement}\n{rest}"))
}

fn is_named(statement: &str, words: &[&str]) {
    for plan in PLANS {
        for level in ["0", "2"] {
            let output = outcome(plan, level, statement);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let words = words.iter().chain(&["program.c:20: in function `main`"]);
            let right = output.status.code() == Some(5) && words.clone().all(|word| message.contains(word));
            assert!(right, "{plan}, --opt {level}, {statement}: {words:?} expected: {}", describe(&output));
        }
    }
}

fn is_right(statement: &str) {
    for plan in PLANS {
        for level in ["0", "2"] {
            let output = outcome(plan, level, statement);
            let right = output.status.success() && output.stdout == b"1 2 3\n";
            assert!(right, "{plan}, --opt {level}, {statement}: {}", describe(&output));
        }
    }
}

/// The runtime keeps what it is given, and would notice only later, without a word about the object.
#[test]
fn a_dead_object_given_to_the_runtime() {
    for call in [
        "tally_weak_new(dead);",
        "tally_weak_new_with(first, 0); tally_ephemeron_new(dead, first);",
        "tally_ephemeron_new(first, dead);",
        "tally_weak_map_set(tally_weak_map_new(TALLY_WEAK_KEYS), first, dead);",
        "tally_handle_new(dead);",
        "tally_global_new(dead);",
        "tally_make_immortal(dead);",
        "tally_external_bytes(dead, 100);",
    ] {
        is_named(
            &format!("Node *dead = hidden(node(9)); node(4); {call}"),
            &["use of a dead object: the `Node`", "made:", "died:", "likely: no root held it"],
        );
    }
}

#[test]
fn live_objects_and_none_given_to_the_runtime() {
    is_right(
        "void *weak = tally_weak_new(first); TALLY_ROOT(weak); tally_weak_get(weak); tally_weak_write(second, &second->undescribed, NULL);",
    );
    is_right(
        "tally_handle_new(NULL); tally_external_bytes(first, 100); tally_handle_set(tally_handle_new(first), second);",
    );
}

#[test]
fn a_dead_object_written_to_a_field() {
    is_named(
        "Node *dead = hidden(node(9)); node(4); TALLY_WRITE(first, next, dead);",
        &["use of a dead object", "made:", "died:", "likely: no root held it"],
    );
}

#[test]
fn a_dead_object_among_words_that_are_copied_or_filled_in() {
    let named = &["use of a dead object: the `Node`", "made:", "died:", "likely: no root held it"];
    let array = "Node *dead = hidden(node(9)); Node *words[3] = {first, NULL, dead}; node(4);";
    is_named(&format!("{array} TALLY_COPY(nodes, nodes->at, words, 3);"), named);
    is_named(&format!("{array} tally_copy_refs(nodes, nodes->at, words, 3);"), named);
    is_named("Node *dead = hidden(node(9)); node(4); tally_fill_refs(nodes, nodes->at, (uint64_t)dead, 2);", named);
    is_named("Node *dead = hidden(node(9)); node(4); tally_gcwrite_i64((uint64_t)dead, first, &first->next);", named);
    is_right("Node *words[3] = {first, NULL, second}; node(4); TALLY_COPY(nodes, nodes->at, words, 2);");
    is_right(
        "Node *dead = hidden(node(9)); Node *words[3] = {first, NULL, dead}; node(4); TALLY_COPY(nodes, nodes->at, words, 2);",
    );
    is_right(
        "node(4); tally_fill_refs(nodes, nodes->at, (uint64_t)first, 3); tally_fill_refs(nodes, nodes->at, 0, 3);",
    );
}

#[test]
fn a_barrier_on_memory_of_malloc() {
    is_named(
        "Node *other = hidden(malloc(sizeof *other)); TALLY_WRITE(other, next, first);",
        &["write of a reference into", "not an object of the heap", "malloc"],
    );
}

#[test]
fn a_reference_in_a_field_that_its_type_does_not_describe() {
    is_named(
        "TALLY_WRITE(first, undescribed, second);",
        &[
            "to the field `undescribed`, byte 8 of 24 of the `Node`",
            "where its type has none",
            "TALLY_TYPE",
            "made:",
            "in function `node`",
        ],
    );
    is_named("TALLY_COPY(first, &first->next, &second->next, 2);", &["byte 8 of 24 of the `Node`"]);
    is_named("tally_fill_refs(first, &first->next, 0, 2);", &["byte 8 of 24 of the `Node`"]);
}

#[test]
fn a_slot_outside_of_its_object() {
    is_named(
        "TALLY_WRITE_AT(first, (Node **)first + 3, second);",
        &["outside of its object", "byte 24 of the `Node`", "likely: the slot is a field of another"],
    );
    is_named("TALLY_WRITE_AT(first, (Node **)first - 1, second);", &["outside of its object", "byte -8 of the `Node`"]);
    is_named(
        "TALLY_WRITE(nodes, at[3], second);",
        &[
            "outside of its object",
            "byte 32 of the `Nodes`",
            "made:",
            "likely: the index is out of range: the array has 3 elements",
        ],
    );
}

#[test]
fn a_slot_askew_and_an_object_that_is_none() {
    is_named(
        "TALLY_WRITE_AT(first, (Node **)((char *)first + 4), second);",
        &["byte 4 of the `Node`", "multiple of 8"],
    );
    is_named(
        "TALLY_WRITE_AT((Node **)hidden(&nodes->at[1]), &nodes->at[1], second);",
        &["as its object", "(in element 1) of the `Nodes`", "name the object itself"],
    );
}

#[test]
fn an_array_of_a_type_that_has_no_elements() {
    is_named(
        "Node *many = tally_new_array(hidden(&tally_type_Node), 10); if (!many) return 1;",
        &["an array of 10 `Node`", "no array type"],
    );
}

#[test]
fn a_global_written_through_a_pointer_to_it() {
    is_named(
        "static Node *last; Node **place = hidden(&last); TALLY_WRITE_GLOBAL(*place, first);",
        &["write of a reference into", "not an object of the heap", "takes the global variable itself, not a pointer"],
    );
}

/// Under the prompt plan nothing counts it, and the object died: the program printed 0 for 42.
#[test]
fn a_plain_store_of_a_reference() {
    is_named(
        "first->next = second;",
        &["plain store of a reference", "the field `next`, byte 0 of 24 (its reference 1 of 1)", "TALLY_WRITE"],
    );
    is_named(
        "Node *made = node(42); TALLY_ROOT(made); made->next = node(43); first->value = made->next->value;",
        &["plain store of a reference"],
    );
    is_named("nodes->at[2] = second;", &["plain store of a reference", "inside the field `at`", "(in element 2)"]);
    is_named("TALLY_WRITE(first, next, second); first->next = NULL;", &["plain store over a reference"]);
}

#[test]
fn references_copied_and_cleared_as_bytes() {
    is_named("TALLY_WRITE(first, next, second); *second = *first;", &["memcpy of a reference", "TALLY_COPY"]);
    is_named("TALLY_WRITE(first, next, second); memset(first, 0, sizeof *first);", &["memset over a reference"]);
}

#[test]
fn plain_stores_that_change_no_reference() {
    is_right(
        "first->next = NULL; first->undescribed = second; memset(nodes->at, 0, 24); *first = (Node){0, second, 1};",
    );
    is_right("TALLY_WRITE(first, next, second); first->next = second; Node copy = *first; *first = copy;");
    is_right("static Node constant; first->next = &constant; first->next = NULL; TALLY_WRITE(nodes, at[2], first);");
    is_right("Node *other = malloc(sizeof *other); *other = *first; other->next = second; free(other);");
}

/// A field with a tag behind it, and two plain references.
const MIXED: &str = r#"
@UpVal = external constant i8
!tally.types = !{!0}
!0 = !{ptr @UpVal, !"size", i64 32, !"slots", !"tag-behind", !"tag_mask", i64 64, !"tag_pattern", i64 64, !"pointer_mask", i64 -1,
       !"refs", !{i32 0, i32 16, i32 24}, !"plain_refs", !{i32 16, i32 24}}
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @tally_fill_refs(ptr, ptr, i64, i64)
declare void @tally_copy_refs(ptr, ptr, ptr, i64)
declare void @tally_write_pair(ptr, ptr, i64, i64)
; What `tally verify` does not see through.
define ptr @hidden(ptr %it) noinline optnone "gc-leaf-function" {
  ret ptr %it
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  %words = alloca i64
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr null, ptr %root
  %lost = call ptr @tally_new(ptr @UpVal)
  %made = call ptr @tally_new(ptr @UpVal)
  store ptr %made, ptr %root
  %other = call ptr @tally_new(ptr @UpVal)
  %word = ptrtoint ptr %lost to i64
  %alive = ptrtoint ptr %made to i64
  store i64 %word, ptr %words
  %object = call ptr @hidden(ptr %made)
  %tag = getelementptr i8, ptr %object, i64 8
  %next = getelementptr i8, ptr %object, i64 16
  WRONG
  ret i32 0
}
"#;

#[test]
fn plain_references_of_a_type_with_pairs_are_seen_by_each_way_to_write_them() {
    let dead = "use of a dead object: the `UpVal` at 0x";
    let plain = "which is a plain reference: write it by llvm.gcwrite(value, object, slot)";
    for plan in PLANS {
        for (write, words) in [
            ("call void @tally_gcwrite_i64(i64 %word, ptr %object, ptr %next)", dead),
            ("call void @tally_fill_refs(ptr %object, ptr %next, i64 %word, i64 2)", dead),
            ("call void @tally_copy_refs(ptr %object, ptr %next, ptr %words, i64 1)", dead),
            ("call void @tally_write_pair(ptr %object, ptr %next, i64 %word, i64 64)", plain),
            ("call void @tally_write_pair(ptr %object, ptr %tag, i64 %word, i64 64)", plain),
        ] {
            let output = run(plan, "0", "program.ll", &MIXED.replace("WRONG", write));
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(5), "{plan}, {write}: {}", describe(&output));
            assert!(message.contains(words), "{plan}, {write}: {message}");
        }
        let right = "call void @tally_write_pair(ptr %object, ptr %object, i64 %alive, i64 64)\n\
                     call void @tally_gcwrite_i64(i64 %alive, ptr %object, ptr %next)\n\
                     call void @tally_fill_refs(ptr %object, ptr %next, i64 %alive, i64 2)";
        let output = run(plan, "0", "program.ll", &MIXED.replace("WRONG", right));
        assert!(output.status.success(), "{plan}: {}", describe(&output));
    }
}
