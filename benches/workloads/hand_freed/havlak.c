/* havlak: a compiler's graph of blocks, edges and loops that stays, while small graphs of the same kind are built, searched for loops
 * and freed; half of them at once, half after they have hung from a block of the large one. */
#include <stdlib.h>
#include "../workload.h"

typedef struct Loop {
    struct Loop *parent;
    struct Block *header;
    long latches;
} Loop;

typedef struct Edge {
    struct Block *from, *to;
    struct Edge *next_out, *next_in;
} Edge;

typedef struct Block {
    Edge *out, *in;
    Loop *header_of, *latch_of;
    struct Block *next;    /* of the same graph, from its entry on */
    struct Block *hanging; /* the entry of a small graph */
    enum { NEW, OPEN, DONE } state;
} Block;

enum { DIAMONDS = 4, OBJECTS = 40 }; /* of a part of the large graph */

static Block *new_block(void) {
    Block *block = malloc(sizeof(Block));
    *block = (Block){.state = NEW};
    return block;
}

static Block *new_block_after(Block *entry) {
    Block *block = new_block();
    block->next = entry->next;
    entry->next = block;
    return block;
}

/* An edge that its target does not know of. */
static Edge *refer(Block *from, Block *to) {
    Edge *edge = malloc(sizeof(Edge));
    *edge = (Edge){.from = from, .to = to, .next_out = from->out};
    from->out = edge;
    return edge;
}

static void connect(Block *from, Block *to) {
    Edge *edge = refer(from, to);
    edge->next_in = to->in;
    to->in = edge;
}

/* A chain of diamonds, each with an edge back to where it forks, and one from the end to the entry. */
static Block *new_graph(int diamonds) {
    Block *entry = new_block(), *last = entry;
    for (int i = 0; i < diamonds; i++) {
        Block *left = new_block_after(entry), *right = new_block_after(entry), *join = new_block_after(entry);
        connect(join, last);
        connect(last, left);
        connect(last, right);
        connect(left, join);
        connect(right, join);
        last = join;
    }
    connect(last, entry);
    return entry;
}

static void free_graph(Block *block) {
    while (block) {
        for (Edge *edge = block->out; edge;) {
            Edge *next = edge->next_out;
            free(edge);
            edge = next;
        }
        free(block->header_of);
        Block *next = block->next;
        free(block);
        block = next;
    }
}

/* The number of edges back to a block that is still open in a walk in depth, each of which makes a latch of a loop. */
static long find_loops(Block *entry, Block *block) {
    long found = 0;
    block->state = OPEN;
    for (Edge *edge = block->out; edge; edge = edge->next_out) {
        Block *to = edge->to;
        if (to->state == NEW) {
            found += find_loops(entry, to);
        } else if (to->state == OPEN) {
            if (!to->header_of) {
                Loop *loop = malloc(sizeof(Loop));
                *loop = (Loop){.parent = entry->header_of, .header = to};
                to->header_of = loop;
            }
            block->latch_of = to->header_of;
            found += ++block->latch_of->latches;
        }
    }
    block->state = DONE;
    return found;
}

long havlak(void) {
    int parts = sizes.live_objects / OBJECTS;
    Block **entries = malloc(parts * sizeof(Block *));
    long sum = 0;
    for (int i = 0; i < parts; i++) {
        entries[i] = new_graph(DIAMONDS);
        sum += find_loops(entries[i], entries[i]);
    }
    for (int i = 0; i < parts; i++) connect(entries[i]->next, entries[random_below(parts)]);

    first_tick();
    for (int replacement = 0; replacement < sizes.replacements / 2; replacement++) {
        Block *at = entries[random_below(parts)];
        Block *graph = new_graph(1 + random_below(3));
        refer(graph->next, at->next);
        sum += find_loops(graph, graph);
        if (random_word() >> 31) {
            if (at->hanging) {
                sum += at->hanging->header_of->latches;
                free_graph(at->hanging);
            }
            at->hanging = graph;
        } else {
            free_graph(graph);
        }
        if (!(replacement & 15)) tick();
    }
    return sum;
}
