/* graph: a table of places, each with a node that has three edges to nodes of other places, which are laid anew all the
 * time; now and then a place takes a new node. The graph is full of cycles, and a node that has left its place lives until no
 * edge of a node in a place leads to it, by however many others. By hand, nodes count the edges to them, and one that
 * leaves its place has its own edges taken away.
 */
#include "program.h"

enum { EDGES = 3 };

typedef struct Node {
    struct Node *edges[EDGES];
    uint64_t number;
    BY_HAND(long edges_to;)
} Node;
TALLY_TYPE(Node, edges[0], edges[1], edges[2]);

typedef struct Places {
    uint64_t length;
    Node *at[];
} Places;
TALLY_ARRAY_TYPE(Places, length, at);

static uint64_t made;

#ifdef FREED_BY_HAND
static void drop(Node *node) {
    if (node && --node->edges_to == 0) free(node);
}

static void leave(Node *node) {
    for (int edge = 0; edge < EDGES; edge++) {
        drop(node->edges[edge]);
        node->edges[edge] = NULL;
    }
    drop(node);
}
#endif

static inline Node *some(Places *places) { return places->at[random_below(places->length)]; }

static Node *new_node(Places *places) {
    TALLY_ROOT(places);
    Node *node = TALLY_NEW(Node);
    node->number = made++;
    BY_HAND(node->edges_to = 1;)
    return node;
}

static void lay(Node *from, int edge, Node *to) {
    BY_HAND(if (to) to->edges_to++;)
    BY_HAND(drop(from->edges[edge]);)
    TALLY_WRITE(from, edges[edge], to);
}

static uint64_t graph(long size) {
    Places *places = TALLY_NEW_ARRAY(Places, size);
    TALLY_ROOT(places);
    for (long place = 0; place < size; place++) {
        Node *node = new_node(places);
        TALLY_WRITE(places, at[place], node);
        if (!(place & 63)) tick();
    }
    uint64_t sum = 0;
    long changes = size < 10000 ? 30 * size : 2 * size + 3000000;
    for (long change = 0; change < changes; change++) {
        uint32_t place = random_below(size);
        int edge = random_below(EDGES);
        Node *node = places->at[place], *next = node->edges[edge];
        if (next) sum = mix(sum, next->number);
        if (random_below(20)) {
            lay(node, edge, some(places));
        } else {
            Node *other = new_node(places);
            TALLY_ROOT(other);
            BY_HAND(leave(places->at[place]);)
            TALLY_WRITE(places, at[place], other);
            for (edge = 0; edge < EDGES; edge++) lay(other, edge, some(places));
        }
        if (!(change & 63)) tick();
    }
    return mix(sum, made);
}
PROGRAM(graph, 300000, 2000, 40)
