/* References in a struct that comes back through memory are good until the caller's next safepoint, like any result: zeal's epoch
 * right after the call must spare them. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Split { Node *front, *back; long length; } Split;

static Node *node(long value, Node *next) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, next);
    return node;
}

static __attribute__((noinline)) Split split(long n) {
    Node *front = NULL, *back = NULL;
    TALLY_ROOT(front, back);
    for (long i = 0; i < n; i++) {
        front = node(i, front);
        back = node(n - i, back);
    }
    return (Split){front, back, n};
}

int main(void) {
    Node *front = NULL, *back = NULL;
    TALLY_ROOT(front, back);
    for (long n = 1; n < 5; n++) {
        Split both = split(n);
        front = both.front;
        back = both.back;
        long sum = both.length;
        for (Node *at = front; at; at = at->next) sum = sum * 3 + at->value;
        for (Node *at = back; at; at = at->next) sum = sum * 3 + at->value;
        printf("%ld\n", sum);
    }
}
