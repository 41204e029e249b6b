//! The functions that LLVM's documentation recommends to collectors, and code of its own strategy `shadow-stack`.

use crate::boundaries::program::{Folder, plan};
use crate::boundaries::{prints, runs, runs_on_the_heap};
use tally_llvm::lower::Plan;

#[test]
fn untyped_objects_are_read_word_by_word() {
    runs(
        r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Cell { struct Cell *next; double number; void *outside; long small; } Cell;
int main(void) {
    llvm_gc_initialize(1 << 20);
    Cell *list = NULL, *ring = NULL, *large = NULL;
    TALLY_ROOT(list, ring, large);
    for (long i = 0; i < 20000; i++) {
        Cell *cell = llvm_gc_allocate(sizeof(Cell));
        if (cell->next || cell->small) return 1;
        TALLY_WRITE(cell, next, i % 100 ? list : NULL);
        cell->number = i * 0.5;
        cell->outside = stdout;
        cell->small = i;
        list = cell;
        ring = llvm_gc_allocate(9);
        TALLY_WRITE_AT(ring, &ring->next, ring);
    }
    large = llvm_gc_allocate(200000);
    TALLY_WRITE_AT(large, &(&large->next)[24999], list);
    list = NULL;
    llvm_gc_collect();
    long count = 0;
    for (list = (&large->next)[24999]; list; list = list->next) count++;
    printf("%ld\n", count);
}
"#,
        "100\n",
    );
}

/// scenario 180.
#[test]
fn stack_roots_are_visited_with_their_metadata() {
    let program = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 7, 0, ~UINT64_C(7));
static long plain, tagged, sum;
static void visit(void **root, void *meta) {
    if (!meta) plain++, sum += ((Node *)*root)->value;
    if (meta == &tally_type_Value) tagged++, sum += (long)*root >> 3;
    tally_collect();
}
static void descend(long depth) {
    Node *node = TALLY_NEW(Node);
    Value value = (uint64_t)depth << 3 | 1;
    TALLY_ROOT(node);
    TALLY_ROOT_TAGGED(Value, value);
    node->value = 1000;
    if (depth) descend(depth - 1);
    else llvm_cg_walk_gcroots(visit);
    sum += node->value - 1000 + (long)(value >> 3) - depth;
}
int main(void) {
    descend(9);
    printf("%ld %ld %ld\n", plain, tagged, sum);
}
"#;
    runs_on_the_heap(program, "10 10 10045\n");
}

/// A collector of one's own sees variables, functions and frames; both roots of a frame have its stack pointer.
#[test]
fn all_that_is_known_of_each_root_is_told() {
    let program = r#"
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
static long elsewhere[2] = {40, 2};
static long seen, sum, frames;
static const void *last;
static void visit(const tally_stack_root *root, void *data) {
    if (root->meta || root->return_address == NULL || strcmp(root->function, "descend")) return;
    if (strcmp(root->name, "outside") && strcmp(root->name, "number")) return;
    frames += root->stack_pointer != last;
    last = root->stack_pointer;
    sum += **(long **)root->slot;
    ++*(long *)data;
}
static void descend(long depth) {
    long *outside = elsewhere, *number = elsewhere + 1;
    TALLY_ROOT(outside, number);
    if (depth) descend(depth - 1);
    else tally_walk_roots(visit, &seen);
    if (*outside != 40 || *number != 2) sum = -1;
}
int main(void) {
    descend(9);
    printf("%ld %ld %ld\n", seen, frames, sum);
}
"#;
    runs(program, "20 10 420\n");
}

/// `keep` is LLVM's; the object in its root is held by nothing else while `native` collects.
const SHADOW: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @make(i64)
declare void @collect()
define i64 @keep(i64 %depth) gc "shadow-stack" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr null, ptr %root
  %object = call ptr @make(i64 %depth)
  store ptr %object, ptr %root
  %last = icmp eq i64 %depth, 0
  br i1 %last, label %bottom, label %further
bottom:
  call void @collect()
  br label %out
further:
  %less = sub i64 %depth, 1
  %below = call i64 @keep(i64 %less)
  br label %out
out:
  %sum = phi i64 [ 0, %bottom ], [ %below, %further ]
  %kept = load ptr, ptr %root
  %slot = getelementptr i8, ptr %kept, i64 8
  %value = load i64, ptr %slot
  %all = add i64 %sum, %value
  ret i64 %all
}
"#;

const MANAGED: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
long keep(long);
Node *make(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}
void collect(void) {
    tally_collect();
    for (long i = 0; i < 10000; i++) make(-1);
}
int main(void) {
    long sum = keep(100);
    printf("%ld\n", sum);
    tally_collect();
}
"#;

/// Under the deferred plan. What such roots hold is not counted, so the other plan would let it die.
#[test]
fn roots_of_llvms_shadow_stack_are_roots_or_refused() {
    let folder = Folder::with(&[("shadow.ll", SHADOW), ("main.c", MANAGED)]);
    if plan() == Plan::Prompt {
        let refused = folder.tally(&["run", "main.c", "shadow.ll"]);
        let message = "shadow.ll: in @keep: gc \"shadow-stack\" does not count what its roots hold, and gc \"refcount-prompt\" of \
                       @make of main.c does; give it the same strategy";
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
        return;
    }
    for level in ["0", "2"] {
        let ran = folder.tally(&["run", "--opt", level, "--leak-check", "main.c", "shadow.ll"]);
        assert_eq!(ran, prints("5050\n"), "tally run --opt {level}");
        folder.build(&["--opt", level, "main.c", "shadow.ll"]);
        assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), prints("5050\n"), "tally build --opt {level}");
    }
}
