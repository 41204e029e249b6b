/* A function stores references through the address of a variable of several words, and then leaves the stack: what it stored lives. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Three { Node *first; Node *second; long number; Node *third; } Three;
TALLY_TYPE(Three, first, second, third);
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
__attribute__((noinline)) static void churn(void) {
    for (int i = 0; i < 2000; i++) node(-1);
}
__attribute__((noinline)) static void fill(Three *to, long value) {
    to->first = node(value);
    to->second = node(value + 1);
    to->third = node(value + 2);
    tally_stack_switch(NULL, NULL);
    churn();
    if (to->first->value != value || to->second->value != value + 1 || to->third->value != value + 2) { puts("lost"); exit(1); }
}
static void *entry(void *argument) {
    Three three = {0};
    TALLY_ROOT_AS(Three, three);
    for (long value = 10; value < 100; value += 10) {
        fill(&three, value);
        if (three.third->value != value + 2) { puts("lost behind"); exit(1); }
    }
    return NULL;
}
int main(void) {
    void *stack = tally_stack_new(entry, 0);
    TALLY_ROOT(stack);
    while (tally_stack_status(stack) != TALLY_STACK_FINISHED) {
        tally_stack_switch(stack, NULL);
        churn();
    }
    puts("kept");
    return 0;
}
