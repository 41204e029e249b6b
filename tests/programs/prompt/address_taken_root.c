/* A ring whose only reference from outside is stored through the address of the caller's root, while so much is allocated that batches
 * and rounds of trials run before the caller counts it. Exits with 0 if the ring is still there. */
#include <tally_gc.h>
#include <stdio.h>
typedef struct Node { struct Node *a, *b; long value; } Node;
TALLY_TYPE(Node, a, b);
static __attribute__((noinline)) void make(Node **out, int n) {
    Node *one = TALLY_NEW(Node), *two = NULL;
    TALLY_ROOT(one, two);
    two = TALLY_NEW(Node);
    one->value = 41; two->value = 1;
    TALLY_WRITE(one, a, two);
    TALLY_WRITE(two, a, one);
    *out = one;
    one = NULL; two = NULL;
    for (int i = 0; i < n; i++) {
        Node *other = TALLY_NEW(Node);
        TALLY_ROOT(other);
        other->value = 7;
        TALLY_WRITE(other, a, other);
    }
}
int main(void) {
    Node *r = NULL;
    TALLY_ROOT(r);
    make(&r, 200000);
    printf("%ld\n", r->value + r->a->value);
    return r->value + r->a->value == 42 ? 0 : 1;
}
