//! A service that is given an object of another kind ends the process with a sentence.

use super::program::{Folder, of_nodes};

/// Status of a use that is wrong.
const USAGE: i32 = 2;

fn ends(body: &str, says: &str) {
    ends_beside("", body, says);
}

/// The same with types of the program's own.
fn ends_beside(types: &str, body: &str, says: &str) {
    let folder = Folder::with(&[("program.c", &of_nodes(&format!("{types} int main(void) {{ {body} return 0; }}")))]);
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
fn weak_set_whose_hash_lies_across_two_words() {
    ends("tally_weak_set_new(3);", "hash_offset 3 is no multiple of 4");
}

/// A record of a slot that lies across two words, or in another object, would be cleared there.
#[test]
fn weak_slots_that_are_no_words_of_their_object() {
    let slots = ["(char *)node + 4", "node + 1", "(char *)node - 8", "&other->next", "&local", "NULL"];
    for (function, slot) in
        ["tally_weak_write", "tally_ephemeron_key_write"].into_iter().flat_map(|f| slots.map(|s| (f, s)))
    {
        let nodes = "Node *node = push(NULL, 1), *other = NULL; TALLY_ROOT(node, other); other = push(NULL, 2); void *local; (void)local;";
        ends(&format!("{nodes} {function}(node, {slot}, other);"), "which is no aligned word of the object");
    }
}

/// Such a reference would be counted when it is overwritten or released, and never was when it was written.
#[test]
fn weak_slots_that_are_fields_of_their_object() {
    let types = "
        typedef struct { uint64_t length; Node *at[]; } Row;
        TALLY_ARRAY_TYPE(Row, length, at);
        typedef struct { uint64_t tag, word; } Value;
        typedef struct { uint64_t number; Value value; } Box;
        TALLY_PAIR_TYPE(Value, tag, word, 255, 7);
        TALLY_TYPE_OF_PAIRS(Box, Value, value);";
    for call in [
        "tally_ephemeron_key_write(node, &node->next",
        "tally_weak_write(row, &row->at[2]",
        "tally_weak_write(row, &row->length",
        "tally_weak_write(box, &box->value.tag",
        "tally_weak_write(box, &box->value.word",
    ] {
        let made = "Node *node = NULL; Row *row = NULL; Box *box = NULL; TALLY_ROOT(node, row, box);
            node = push(NULL, 1); row = TALLY_NEW_ARRAY(Row, 3); box = TALLY_NEW(Box);";
        let says = "` describes: a word that is to refer weakly is left out of it";
        ends_beside(types, &format!("{made} {call}, node);"), says);
    }
}

#[test]
fn stack_without_an_entry_function() {
    ends("tally_stack_new(NULL, 0);", "tally_stack_new: the entry function is null");
}

/// Memory of a heap is its thread's alone: with another's object counts and records would be lost, or written beside each other.
#[test]
fn objects_and_global_handles_of_another_thread() {
    let thread = "
        static Node *theirs;
        static tally_global *their_global;
        static void *begin(void *unused) {
            (void)unused;
            theirs = push(NULL, 1);
            their_global = tally_global_new(theirs);
            for (;;) sleep(1);
        }
        static void wait_for_theirs(void) {
            pthread_t thread;
            pthread_create(&thread, NULL, begin, NULL);
            while (!__atomic_load_n(&their_global, __ATOMIC_ACQUIRE)) usleep(100);
        }";
    let uses = [
        ("tally_external_bytes(theirs, 8);", "tally_external_bytes of"),
        ("tally_make_immortal(theirs);", "tally_make_immortal of"),
        ("tally_finalize_register(theirs);", "tally_finalize_register of"),
        ("tally_finalize_forget(theirs);", "tally_finalize_forget of"),
        ("tally_count_of(theirs);", "tally_count_of of"),
        ("tally_handle_new(theirs); tally_collect();", "a handle holds"),
        ("tally_handle_set(tally_handle_new(NULL), theirs);", "tally_handle_set of"),
        ("tally_global_new(theirs);", "tally_global_new of"),
        ("tally_global_set(tally_global_new(NULL), theirs);", "tally_global_set of"),
    ];
    let program = |call: &str| {
        of_nodes(&format!(
            "{thread} int main(void) {{ Node *own = push(NULL, 2); TALLY_ROOT(own); wait_for_theirs(); {call} return 0; }}"
        ))
    };
    let of_another = "which is not an object of this thread's heap but of another thread's";
    let rows = uses.map(|(call, function)| (call, function, of_another)).into_iter().chain([
        (
            "tally_global_set(their_global, own);",
            "tally_global_set of",
            "which is no global handle of this thread's heap",
        ),
        ("tally_global_free(their_global);", "tally_global_free of", "which is no global handle of this thread's heap"),
    ]);
    for (call, function, says) in rows {
        let folder = Folder::with(&[("program.c", &program(call))]);
        let ran = folder.tally(&["run", "--opt", "0", "program.c"]);
        assert_eq!(ran.status, Some(USAGE), "{call}: {ran:?}");
        assert!(ran.stderr.contains(function) && ran.stderr.contains(says), "{call}: {}", ran.stderr);
    }
}

#[test]
fn global_handle_that_is_free_already() {
    let freed = "tally_global *global = tally_global_new(NULL); tally_global_free(global);";
    for call in ["tally_global_set(global, NULL);", "tally_global_free(global);"] {
        ends(&format!("{freed} {call}"), "a handle that is free already");
    }
}
