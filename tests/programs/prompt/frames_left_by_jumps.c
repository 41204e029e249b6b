/* Errors by longjmp, as an interpreter raises them: each leaves a frame behind that counted two objects, and no mark in slices can prove
 * those dead. Says whether few of them were there at any time. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *a, *b; long id, room[10]; } Node;
TALLY_TYPE(Node, a, b);
static jmp_buf back;
static Node *node(long id, Node *a) {
    TALLY_ROOT(a);
    Node *made = TALLY_NEW(Node);
    made->id = id;
    TALLY_WRITE(made, a, a);
    return made;
}
static __attribute__((noinline)) void raise(void) { longjmp(back, 1); }
static __attribute__((noinline)) long act(Node *held) {
    Node *mine = NULL, *other = NULL;
    TALLY_ROOT(held, mine, other);
    mine = node(held->id + 1, held);
    other = node(held->id + 2, mine);
    raise();
    return mine->id + other->id;
}
int main(void) {
    Node *root = node(1, NULL);
    TALLY_ROOT(root);
    static uint64_t most;
    for (static int i = 0; i < 700000; i++) {
        if (!setjmp(back)) act(root);
        uint64_t live = tally_live_bytes();
        if (live > most) most = live;
    }
    uint64_t mib = 1;
    while (mib << 20 < most) mib *= 2;
    printf("%s\n", mib <= 64 && root->id == 1 ? "few" : "all");
    return 0;
}
