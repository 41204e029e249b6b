/* Memory of the program's own that borrows references: objects and roots hold them as long as they are there. */
#include "../node.h"

static struct Frame {
    Node *closure;
    long pc;
} frames[4];
static Node *current;

static long visit(void) {
    return current->value + frames[1].closure->value;
}

static long with_current(Node *node) {
    Node *mine = make(3);
    TALLY_ROOT(mine, node);
    TALLY_WRITE(mine, next, node);
    current = mine;
    work();
    long sum = visit();
    current = NULL;
    return sum;
}

int main(void) {
    Nodes *all = TALLY_NEW_ARRAY(Nodes, 4);
    TALLY_ROOT(all);
    Node **index = malloc(4 * sizeof *index);
    for (long i = 0; i < 4; i++) {
        Node *node = make(i);
        TALLY_WRITE(all, at[i], node);
        index[3 - i] = node;
    }
    for (long i = 0; i < 4; i++) {
        Node *node = all->at[i];
        frames[i] = (struct Frame){node, i};
    }
    work();
    Node *batch[8];
    long count = 0, sum = 0;
    for (int round = 0; round < 3; round++) {
        count = 0;
        for (long i = 0; i < 4; i++) batch[count++] = all->at[i];
        while (count) sum += batch[--count]->value;
        work();
    }
    printf("%ld %ld %ld\n", index[0]->value, with_current(all->at[2]), sum);
    printf("%lu\n", all->length); /* the root is read after all else */
    free(index);
}
