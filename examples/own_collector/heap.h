/* The heap of main.c, in heap.c. */
#include <tally_gc.h>

typedef struct Node {
    struct Node *left, *right;
    struct Node *next_of_all;
    long value;
    int marked;
} Node;

extern long live, collections;
Node *new_node(long value);
void collect(void);
