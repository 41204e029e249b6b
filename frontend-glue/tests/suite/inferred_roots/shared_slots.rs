//! Inferred roots that share a slot: which of them are stored, and what keeps an object that has no store of its own.

use super::prints;
use tally_kit::folder::Folder;

/// Both references of a loop begin as one object, so that only one of them shares its slot: the other is stored where the turn
/// begins, and what the turn before made of it is not stored as well.
#[test]
fn what_only_a_stored_phi_takes_is_not_stored() {
    const PROGRAM: &str = r#"
declare void @use(ptr addrspace(1), ptr addrspace(1))
define void @loop(ptr addrspace(1) %first) gc "refcount" {
entry:
  br label %turn
turn:
  %left = phi ptr addrspace(1) [ %first, %entry ], [ %left.next, %turn ]
  %right = phi ptr addrspace(1) [ %first, %entry ], [ %right.next, %turn ]
  call void @use(ptr addrspace(1) %left, ptr addrspace(1) %right)
  %left.next = load ptr addrspace(1), ptr addrspace(1) %left
  %right.next = load ptr addrspace(1), ptr addrspace(1) %right
  %done = icmp eq ptr addrspace(1) %left.next, %right.next
  br i1 %done, label %end, label %turn
end:
  ret void
}
"#;
    let folder = Folder::with(&[("turn.ll", PROGRAM)]);
    let lowered = folder.tally(&["lower", "turn.ll", "-o", "-"]);
    assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
    let turn = lowered.stdout.split("\nturn:").nth(1).and_then(|rest| rest.split("\nend:").next()).expect("the loop");
    let stores = |value: &str| turn.matches(&format!("store ptr addrspace(1) {value},")).count();
    assert_eq!([stores("%left.next"), stores("%left")], [1, 0], "its slot holds all that %left takes: {turn}");
    assert_eq!([stores("%right"), stores("%right.next")], [1, 0], "{turn}");
}

/// Members of one slot are stored where they are needed: a loop's reference in front of the next turn, another in a branch alone.
#[test]
fn a_slot_of_several_references_is_filled_where_each_is_needed() {
    const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static __attribute__((noinline)) Node *node_of(Node *next, long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, next);
    return node;
}
static __attribute__((noinline)) void churn(void) {
    for (int i = 0; i < 3; i++) TALLY_NEW(Node)->value = 7;
}
/* The cursor has another object in each turn, from a field or a call; only some turns reach a safepoint. */
static __attribute__((noinline)) long sum_of(Node *list, long turns) {
    long sum = 0;
    Node *at = node_of(list, 1), *spare = NULL;
    for (long i = 0; i < turns; i++) {
        if (i % 3 == 1) {
            churn();
            sum += at->value;
        } else if (i % 5 == 4) {
            spare = at;
            at = node_of(at, i);
            sum += spare->value;
        }
        if (at->next != NULL) at = at->next;
        if (i % 7 == 6) {
            churn();
            sum += spare != NULL ? spare->value : 100;
        }
        sum += at->value;
    }
    return sum;
}
int main(void) {
    Node *list = NULL;
    for (long i = 0; i < 20; i++) list = node_of(list, i);
    printf("%ld\n", sum_of(list, 30));
}
"#;
    let folder = Folder::with(&[("slot.c", PROGRAM)]);
    prints(&folder, "slot.c", &["--roots", "auto"], "420\n");
}

/// The last call of a function is one of itself, with an object of its own: that becomes a loop, in which no caller keeps the
/// object any more.
#[test]
fn a_tail_call_of_itself_hands_on_an_object_of_its_own() {
    const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static __attribute__((noinline)) void churn(void) {
    for (int i = 0; i < 3; i++) TALLY_NEW(Node)->value = 7;
}
static __attribute__((noinline)) long walk(Node *node, long turns) {
    Node *own = TALLY_NEW(Node);
    own->value = turns;
    churn();
    long value = node->value;
    if (value < 0) return -1;
    if (turns == 0) return own->value + node->value;
    printf("%ld ", value + own->value);
    return walk(own, turns - 1);
}
int main(void) {
    Node *first = TALLY_NEW(Node);
    first->value = 5;
    printf("%ld\n", walk(first, 4));
}
"#;
    prints(&Folder::with(&[("tail.c", PROGRAM)]), "tail.c", &["--roots", "auto"], "9 7 5 3 1\n");
}
