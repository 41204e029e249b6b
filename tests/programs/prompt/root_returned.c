// A function stores what it made to a root, and returns what the root holds: the result has a count of its own, and the root its one.
#include <tally_gc.h>
#include <stdio.h>
typedef struct Node { struct Node *next; long id; } Node;
TALLY_TYPE(Node, next);
__attribute__((noinline)) static Node *made(Node *given, long id) {
    TALLY_ROOT(given);
    if (id & 1) {
        given = TALLY_NEW(Node);
        given->id = id;
    }
    return given;
}
int main(void) {
    Node *last = NULL;
    TALLY_ROOT(last);
    long sum = 0;
    for (long id = 0; id < 100; id++) {
        last = made(last, id);
        sum += last ? last->id : 0;
    }
    printf("%ld\n", sum);
}
