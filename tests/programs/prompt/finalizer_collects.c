/* A finalizer asks for a collection, which comes when the drain that called it has ended: in front of the call of `take`, whose argument is
 * in no root yet. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);

typedef struct Mortal { struct Mortal *next; } Mortal;
static void died(Mortal *mortal) {
    (void)mortal;
    puts("died");
    tally_collect();
}
TALLY_FINALIZED_TYPE(Mortal, died, next);

__attribute__((noinline)) static Node *make(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}

/* What it makes would lie where the argument lay. */
__attribute__((noinline)) static long take(Node *node) {
    TALLY_ROOT(node);
    for (int i = 0; i < 100; i++) make(7);
    return node->value;
}

int main(void) {
    Mortal *mortal = NULL;
    TALLY_ROOT(mortal);
    long sum = 0;
    for (long i = 0; i < 5; i++) {
        mortal = TALLY_NEW(Mortal);
        Node *made = make(i);
        mortal = NULL;
        sum += take(made);
    }
    printf("%ld\n", sum);
}
