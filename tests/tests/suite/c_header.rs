//! `tally_gc.h` says no where C can: a wrong field, variable or value is a compile-time error whose text names it. And
//! the descriptors it writes hold the numbers that the struct has, asserted by the C compiler itself.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Types that every snippet may use.
const TYPES: &str = "#include <tally_gc.h>
typedef struct Node { struct Node *left, *right; long value; } Node;
TALLY_TYPE(Node, left, right);
typedef struct Other { struct Other *other; } Other;
TALLY_TYPE(Other, other);
typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 7, 0, ~UINT64_C(7));
typedef struct Pair { Value car, cdr; } Pair;
TALLY_TYPE_TAGGED(Pair, Value, car, cdr);
";

/// What clang says about the snippet; empty when it has nothing to say.
fn complaints(snippet: &str, standard: &str) -> String {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../aot-runtime/include");
    let mut clang = Command::new("clang-22")
        .args(["-fsyntax-only", "-Wall", "-Wextra", standard, "-x", "c", "-", "-I"])
        .arg(include)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("clang-22 runs");
    clang.stdin.take().expect("piped").write_all((TYPES.to_owned() + snippet).as_bytes()).expect("clang reads");
    let output = clang.wait_with_output().expect("clang ends");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), !text.contains("error:"), "{text}");
    text
}

fn refuses(snippet: &str, reason: &str) {
    let text = complaints(snippet, "-std=gnu17");
    assert!(
        text.contains("error:") && text.contains(reason),
        "expected {reason:?} about\n{snippet}\nbut clang said\n{text}"
    );
}

#[test]
fn fields_that_are_no_references_or_out_of_order_are_refused() {
    refuses("typedef struct A { long n; } A; TALLY_TYPE(A, n);", "indirection requires pointer operand");
    refuses("typedef struct A { void *x, *y; } A; TALLY_TYPE(A, y, x);", "name x before y");
    refuses("typedef struct A { void *x; } A; TALLY_TYPE(A, x, x);", "name x before x");
    refuses("typedef struct A { void *x[2]; } A; TALLY_TYPE(A, x);", "x of A is not a pointer");
    refuses(
        "typedef struct __attribute__((packed)) A { int i; void *x; } A; TALLY_TYPE(A, x);",
        "x of A does not lie at a multiple of 8",
    );
    refuses(
        "typedef struct A { double x; } A; TALLY_TYPE_TAGGED(A, Value, x);",
        "x of A is not a Value, nor a pointer",
    );
    refuses(
        "typedef struct A { char x[8]; } A; TALLY_TYPE_TAGGED(A, Value, x);",
        "x of A is not a Value, nor a pointer",
    );
    refuses(
        "typedef struct A { void *x[2]; } A; TALLY_TYPE_TAGGED(A, Value, x);",
        "x of A is not a Value, nor a pointer",
    );
    refuses("typedef struct A { void *x; Value v; } A; TALLY_TYPE_TAGGED(A, Value, v, x);", "name x before v");
}

#[test]
fn arrays_without_a_proper_length_or_elements_are_refused() {
    refuses(
        "typedef struct A { unsigned n; Node *at[]; } A; TALLY_ARRAY_TYPE(A, n, at);",
        "the length of A must be a uint64_t",
    );
    refuses(
        "typedef struct A { uint64_t n; long at[]; } A; TALLY_ARRAY_TYPE(A, n, at);",
        "indirection requires pointer operand",
    );
    refuses(
        "typedef struct A { uint64_t n; int i; char at[]; } A; TALLY_DATA_ARRAY_TYPE(A, n, at);",
        "the elements of A must begin at a multiple of 8",
    );
    refuses(
        "typedef struct __attribute__((packed)) E { Node *key; int i; } E; typedef struct A { uint64_t n; E at[]; } A; TALLY_STRUCT_ARRAY_TYPE(A, n, at, (key));",
        "the size of an element of A must be a multiple of 8",
    );
}

#[test]
fn writes_and_roots_of_the_wrong_type_are_refused() {
    refuses("void f(Node *n, Other *o) { TALLY_WRITE(n, left, o); }", "incompatible pointer types");
    refuses("void f(Node *n) { TALLY_WRITE(n, value, 1); }", "indirection requires pointer operand");
    refuses("void f(Node *n, Value v) { TALLY_WRITE_TAGGED(n, left, v); }", "incompatible integer to pointer");
    refuses("void f(Pair *p, Node *n) { TALLY_WRITE(p, car, n); }", "incompatible pointer to integer");
    refuses("void f(Node *n, Other *o) { TALLY_COPY(n, &n->left, &o->other, 1); }", "slots differ in type");
    refuses("Node *f(void) { return TALLY_NEW(Other); }", "incompatible pointer types");
    refuses("void f(long n) { TALLY_ROOT(n); }", "indirection requires pointer operand");
    refuses("void f(Node *n) { TALLY_ROOT_TAGGED(Value, n); }", "n is not a Value");
    refuses("void f(Pair p) { TALLY_ROOT_AS(Node, p); }", "p is not a Node");
}

#[test]
fn descriptors_hold_what_the_struct_has_in_every_standard() {
    let snippet = "
typedef struct Big { long n; Node *at[3]; struct { long pad; Pair *pair; } inner; } Big;
TALLY_ACYCLIC_TYPE(Big, at[0], at[1], at[2], inner.pair);
typedef struct Leaf { double d; } Leaf;
TALLY_TYPE(Leaf);
typedef struct Table { uint64_t n; Node *owner; struct { Node *key; long hash; Node *value; } at[]; } Table;
TALLY_STRUCT_ARRAY_TYPE(Table, n, at, (key, value), owner);
_Static_assert(sizeof tally__refs_Leaf == 1 * 4 && sizeof tally__refs_Node == 3 * 4 && sizeof tally__refs_Big == 5 * 4, \"\");
_Static_assert(sizeof tally__refs_Table == 2 * 4 && sizeof tally__elements_Table == 3 * 4, \"\");
Node *g;
Node *f(Node *n, Value v) {
    TALLY_ROOT(n);
    TALLY_ROOT_TAGGED(Value, v);
    Pair p = {0, 0};
    TALLY_ROOT_AS(Pair, p);
    Table *t = TALLY_NEW_ARRAY(Table, 3);
    TALLY_WRITE(t, at[1].key, TALLY_NEW(Node));
    TALLY_WRITE_AT(t, &t->at[2].value, TALLY_READ(n, left));
    TALLY_WRITE_GLOBAL(g, TALLY_READ_AT(t, &t->owner));
    return g;
}
";
    for standard in ["-std=c11", "-std=gnu17", "-std=c23"] {
        assert_eq!(complaints(snippet, standard), "", "{standard}");
    }
}
