/* The words of a call or return in flight are written down for a drain: a vector asks for more alignment than they have. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef long Long4 __attribute__((vector_size(32)));

static __attribute__((noinline)) Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}

static __attribute__((noinline)) Long4 measure(Node *list, long n) {
    TALLY_ROOT(list);
    char odd[3];
    snprintf(odd, sizeof odd, "%ld", n % 10);
    Node *mine = push(list, n);
    TALLY_ROOT(mine);
    list = push(mine, n + 1);
    long length = 0;
    for (Node *at = list; at; at = at->next) length++;
    return (Long4){n, length, mine->value, odd[0]};
}

static __attribute__((noinline)) long total(Long4 v, Node *list) {
    TALLY_ROOT(list);
    list = push(list, v[0]);
    return v[0] + v[1] + v[2] + v[3] + list->value;
}

int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    long sum = 0;
    for (long i = 0; i < 50; i++) {
        list = push(i % 7 ? list : NULL, i);
        Long4 v = measure(list, i);
        sum += total(v, list);
    }
    printf("%ld\n", sum);
}
