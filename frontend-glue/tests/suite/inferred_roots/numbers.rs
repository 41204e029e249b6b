//! Numbers that are made into addresses.

use super::{EITHER, prints};
use tally_kit::folder::Folder;

/// An address is made behind null, as macros for offsets do and old code for any number. It had no root, and zeal did not look.
const BEHIND_NULL: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
__attribute__((noinline)) static Node *make(long value) { Node *node = NEW(Node); node->value = value; return node; }
__attribute__((noinline)) static void churn(void) { tally_collect(); make(666); make(667); }
int main(void) {
    uintptr_t word = (uintptr_t)make(5) | 1;
    Node *node = (Node *)&((char *)0)[word & ~(uintptr_t)1];
    churn();
    printf("%ld\n", node->value);
}
"#;

#[test]
fn address_behind_null_is_a_reference() {
    let folder = Folder::with(&[("behind_null.c", &format!("{EITHER}{BEHIND_NULL}"))]);
    prints(&folder, "behind_null.c", &["--roots", "auto"], "5\n");
}
