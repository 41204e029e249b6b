/* A program asks why objects are alive that only frames of stopped stacks hold: a suspended one, and the thread's own, which
 * waits while a coroutine asks. The same under all plans but for the steps in between, so only ends are printed. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

static void note(const tally_holder *holder, void *held, void *context) {
    (void)held;
    if (!holder->root && strstr(holder->type, "coroutine")) *(int *)context |= 1;
    if (holder->root) *(int *)context |= 2;
}

static void ask(const char *what, const Node *node) {
    int found = 0;
    uint64_t steps = tally_why_alive(node, note, &found);
    printf("%s: %s\n", what, !steps ? "nothing" : found == 3 ? "a root, through a coroutine" : found == 2 ? "a root" : "?");
}

static void *sleeper(void *value) {
    Node *own = value;
    TALLY_ROOT(own);
    own = TALLY_NEW(Node);
    own->value = 7;
    tally_stack_switch(NULL, own);
    return own;
}

static void *asks(void *value) {
    Node *waiting = value;
    ask("what the waiting stack holds", waiting);
    return NULL;
}

int main(void) {
    void *stack = tally_stack_new(sleeper, 0), *other = NULL;
    Node *held = NULL, *mine = NULL;
    TALLY_ROOT(stack, other, held, mine);
    held = tally_stack_switch(stack, NULL);
    const volatile uintptr_t hidden = (uintptr_t)held;
    held = NULL;
    ask("a suspended frame", (Node *)hidden);
    tally_collect();
    ask("a frame that was laid down", (Node *)hidden);
    printf("%lu objects, status %d\n", tally_count_of_type(&tally_type_Node), tally_stack_status(stack));
    mine = TALLY_NEW(Node);
    mine->value = 8;
    other = tally_stack_new(asks, 0);
    tally_stack_switch(other, mine);
    stack = NULL;
    tally_collect();
    printf("%lu left, and its value is %ld\n", tally_count_of_type(&tally_type_Node), mine->value);
}
