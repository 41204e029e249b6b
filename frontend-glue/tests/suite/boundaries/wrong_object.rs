//! A service that is given an object of another kind ends the process with a sentence.

use super::program::{Folder, of_nodes};

/// Status of a use that is wrong.
const USAGE: i32 = 2;

fn ends(body: &str, says: &str) {
    let folder = Folder::with(&[("program.c", &of_nodes(&format!("int main(void) {{ {body} return 0; }}")))]);
    for level in ["0", "2"] {
        let ran = folder.tally(&["run", "--opt", level, "program.c"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(USAGE), ""), "{body}: {ran:?}");
        assert!(ran.stderr.starts_with("tally: ") && ran.stderr.contains(says), "{body}: {}", ran.stderr);
    }
}

/// An interpreter that has mixed up its tables would otherwise search a bucket that is none: for ever, or outside of the heap.
#[test]
fn weak_map_functions_of_another_object() {
    let uses = [
        "tally_weak_map_set(node, node, node);",
        "tally_weak_map_get(node, node);",
        "tally_weak_map_remove(node, node);",
        "tally_weak_map_count(node);",
        "tally_weak_map_next(node, 0);",
        "tally_weak_map_find(node, node);",
        "tally_weak_map_key_at(node, 1);",
        "tally_weak_map_value_at(node, 1);",
    ];
    for call in uses {
        ends(&format!("Node *node = push(NULL, 1); TALLY_ROOT(node); {call}"), "which is no weak map");
    }
}

#[test]
fn weak_set_functions_of_another_object() {
    for call in ["tally_weak_set_add(node, node);", "tally_weak_set_count(node);", "tally_weak_set_remove(node, node);"]
    {
        ends(&format!("Node *node = push(NULL, 1); TALLY_ROOT(node); {call}"), "which is no weak set");
    }
}

#[test]
fn stack_without_an_entry_function() {
    ends("tally_stack_new(NULL, 0);", "tally_stack_new: the entry function is null");
}
