//! Variables whose type does not say which of their words are references: unions, bytes, and what is copied between them.

use super::{EITHER, prints, typed};
use tally_kit::folder::Folder;

/// The roots of a union were those of its largest member's type: the object was lost where that is a number.
const UNIONS: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Node { REF(struct Node) next; long value; } Node;
TALLY_TYPE(Node, next);
typedef union Value { double number; REF(Node) node; } Value;
typedef struct Slot { long tag; Value value; double more; } Slot;
typedef union Many { double numbers[6]; REF(Node) nodes[6]; } Many;

__attribute__((noinline)) static REF(Node) make(long value) { REF(Node) node = NEW(Node); node->value = value; return node; }
__attribute__((noinline)) static void churn(void) {
    tally_collect();
    for (int i = 0; i < 100; i++) make(1000 + i);
}
__attribute__((noinline)) static Value wrap(long value) { Value w; w.node = make(value); return w; }
__attribute__((noinline)) static long use(Value v) { churn(); return v.node->value; }
__attribute__((noinline)) static Slot slot_of(long value) { Slot slot = {1, {0}, 2.5}; slot.value.node = make(value); churn(); return slot; }
__attribute__((noinline)) static long use_slot(Slot slot) { Slot copy = slot; churn(); return copy.value.node->value; }
/* Only bytes are copied while the object is needed. */
__attribute__((noinline)) static long of_copies(void) {
    Slot slot = slot_of(7), later;
    Value value = slot.value;
    memset(&slot, 0, sizeof slot);
    churn();
    later.value = value;
    value.number = 1;
    churn();
    return later.value.node->value;
}
/* At places that nobody knows. */
__attribute__((noinline)) static long of_places(int n) {
    Many many;
    for (int i = 0; i < 6; i++) many.numbers[i] = i;
    for (int i = 0; i < n; i++) many.nodes[i] = make(i);
    churn();
    Many copy = many;
    memset(&many, 0, sizeof many);
    churn();
    long sum = 0;
    for (int i = 0; i < n; i++) sum += copy.nodes[i]->value;
    return sum + (long)copy.numbers[5];
}
__attribute__((noinline)) static long of_bytes(void) {
    char bytes[24];
    *(REF(Node) *)(bytes + 8) = make(9);
    churn();
    return (*(REF(Node) *)(bytes + 8))->value;
}
int main(void) {
    Value v;
    v.node = make(5);
    churn();
    long first = v.node->value;
    v.number = 0.5;
    churn();
    printf("%ld %.1f %ld %ld %ld %ld %ld\n", first, v.number, use(wrap(6)), of_copies(), use_slot(slot_of(8)), of_places(5), of_bytes());
}
"#;

#[test]
fn union_of_a_number_and_a_reference_is_a_root() {
    let folder = Folder::with(&[("unions.c", &format!("{EITHER}{UNIONS}"))]);
    prints(&folder, "unions.c", &["--roots", "auto"], "5 0.5 6 7 8 15 9\n");
}

#[test]
fn union_of_a_number_and_a_typed_reference_is_a_root() {
    let folder = Folder::with(&[("unions.c", &typed(&format!("{EITHER}{UNIONS}")))]);
    prints(&folder, "unions.c", &[], "5 0.5 6 7 8 15 9\n");
}

/// Every byte of the buffer that two references might begin at was taken for a place of one, and the variable refused.
const COPIES: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Node { REF(struct Node) next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Two { REF(Node) first; REF(Node) second; } Two;
__attribute__((noinline)) static REF(Node) make(long value) { REF(Node) node = NEW(Node); node->value = value; return node; }
__attribute__((noinline)) static void churn(void) {
    tally_collect();
    for (int i = 0; i < 100; i++) make(1000 + i);
}
__attribute__((noinline)) static long through_bytes(int at) {
    _Alignas(8) char bytes[64];
    memset(bytes, 0, sizeof bytes);
    Two two;
    two.first = make(2);
    two.second = make(40);
    memcpy(bytes + at, &two, sizeof two);
    memset(&two, 0, sizeof two);
    churn();
    memcpy(&two, bytes + at, sizeof two);
    memset(bytes, 0, sizeof bytes);
    churn();
    return two.first->value + two.second->value;
}
int main(void) { printf("%ld %ld\n", through_bytes(0), through_bytes(24)); }
"#;

#[test]
fn references_are_copied_to_any_place_of_a_buffer() {
    let folder = Folder::with(&[("copies.c", &format!("{EITHER}{COPIES}"))]);
    prints(&folder, "copies.c", &["--roots", "auto"], "42 42\n");
    let folder = Folder::with(&[("copies.c", &typed(&format!("{EITHER}{COPIES}")))]);
    prints(&folder, "copies.c", &[], "42 42\n");
}

/// Its objects were lost; a variable of pointers was refused.
#[test]
fn references_in_bytes_of_no_constant_number_are_refused() {
    let text = "define void @f(ptr addrspace(1) %p, i64 %n) gc \"refcount\" {
  %bytes = alloca i8, i64 %n, align 8
  %at = getelementptr i8, ptr %bytes, i64 8
  store ptr addrspace(1) %p, ptr %at
  call void @stop()
  ret void
}
declare void @stop()
";
    for options in [&[][..], &["--roots", "auto"]] {
        let outcome = Folder::with(&[("m.ll", text)]).tally(&[&["verify"], options, &["m.ll"]].concat());
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("whose size is not constant"), "{}", outcome.stderr);
    }
}

/// Copies between variables of which the program chooses one: each may have the reference.
const CHOSEN: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
#define NI __attribute__((noinline))
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef union Value { double number; Node *node; } Value;
static NI Node *make(long value) { Node *node = TALLY_NEW(Node); node->value = value; return node; }
static NI long use(Value *value) {
    for (int i = 0; i < 50; i++) make(-1);
    tally_collect();
    for (int i = 0; i < 50; i++) make(-1);
    return value->node->value;
}
static NI long to_one_of(int which, long n) {
    Value from, one, other;
    from.node = make(n);
    one.number = other.number = 0;
    Value *chosen = which ? &one : &other;
    *chosen = from;
    from.number = 0;
    return use(which ? &one : &other);
}
static NI long from_one_of(int which, long n) {
    Value one, other, to;
    one.node = make(n);
    other.node = make(n + 1);
    to = *(which ? &one : &other);
    one.number = other.number = 0;
    return use(&to);
}
int main(void) {
    printf("%ld %ld %ld %ld\n", to_one_of(1, 1), to_one_of(0, 2), from_one_of(1, 3), from_one_of(0, 3));
}
"#;

#[test]
fn copy_to_or_from_one_of_several_variables_carries_the_reference() {
    let folder = Folder::with(&[("chosen.c", CHOSEN)]);
    prints(&folder, "chosen.c", &["--roots", "auto"], "1 2 3 4\n");
}
