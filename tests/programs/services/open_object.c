/* A stack that is open while it is written to, by the macro and by the function; then it is closed. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

typedef struct Stack {
    uint64_t size;
    Node *at[];
} Stack;
TALLY_ARRAY_TYPE(Stack, size, at);

static Node *node(Node *next, long value) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, next);
    return node;
}

static long sum(Stack *stack) {
    long sum = 0;
    for (uint64_t i = 0; i < stack->size; i++)
        for (Node *node = stack->at[i]; node; node = node->next) sum += node->value;
    return sum;
}

static void (*volatile through)(void *, void *, void *) = tally_write_open;

int main(void) {
    Stack *stack = TALLY_NEW_ARRAY(Stack, 50), *other = NULL;
    Node *first = NULL;
    TALLY_ROOT(stack, other, first);
    tally_object_open(stack);
    for (int round = 0; round < 40; round++) {
        for (uint64_t i = 0; i < stack->size; i++)
            TALLY_WRITE_OPEN(stack, at[i], node(round % 3 ? stack->at[i] : NULL, (long)i + round));
        if (round % 10 == 9) tally_collect();
    }
    printf("%ld\n", sum(stack));
    first = stack->at[7];
    for (uint64_t i = 0; i < stack->size; i += 2) through(i % 4 ? first : NULL, stack, &stack->at[i]);
    tally_collect();
    printf("%ld\n", sum(stack));
    tally_object_close(stack);
    TALLY_WRITE(first, next, NULL);
    for (uint64_t i = 0; i < stack->size; i++) TALLY_WRITE(stack, at[i], first);
    tally_collect();
    printf("%ld, nodes %lu\n", sum(stack), tally_count_of_type(&tally_type_Node));
    return 0;
}
