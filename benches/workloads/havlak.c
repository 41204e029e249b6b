/* havlak: a compiler's graph of blocks, edges and loops that stays, while small graphs of the same kind are built, searched for loops
 * and dropped; half of them at once, half after they have hung from a block of the large one (after Hundt's loop finder). Everything
 * is cyclic, and every small graph refers to the large one. */
#include <tally_gc.h>
#include "workload.h"

typedef struct Loop {
    struct Loop *parent;
    struct Block *header;
    long latches;
} Loop;
TALLY_TYPE(Loop, parent, header);

typedef struct Edge {
    struct Block *from, *to;
    struct Edge *next_out, *next_in;
} Edge;
TALLY_TYPE(Edge, from, to, next_out, next_in);

typedef struct Block {
    Edge *out, *in;
    Loop *header_of, *latch_of;
    struct Block *next;    /* of the same graph, from its entry on */
    struct Block *hanging; /* the entry of a small graph */
    enum { NEW, OPEN, DONE } state;
} Block;
TALLY_TYPE(Block, out, in, header_of, latch_of, next, hanging);

typedef struct Blocks {
    uint64_t length;
    Block *at[];
} Blocks;
TALLY_ARRAY_TYPE(Blocks, length, at);

enum { DIAMONDS = 4, OBJECTS = 40 }; /* of a part of the large graph */

static Block *new_block(void) {
    Block *block = TALLY_NEW(Block);
    block->state = NEW;
    return block;
}

static Block *new_block_after(Block *entry) {
    TALLY_ROOT(entry);
    Block *block = new_block();
    TALLY_WRITE(block, next, entry->next);
    TALLY_WRITE(entry, next, block);
    return block;
}

/* An edge that its target does not know of. */
static Edge *refer(Block *from, Block *to) {
    TALLY_ROOT(from, to);
    Edge *edge = TALLY_NEW(Edge);
    TALLY_WRITE(edge, from, from);
    TALLY_WRITE(edge, to, to);
    TALLY_WRITE(edge, next_out, from->out);
    TALLY_WRITE(from, out, edge);
    return edge;
}

static void connect(Block *from, Block *to) {
    TALLY_ROOT(to);
    Edge *edge = refer(from, to);
    TALLY_WRITE(edge, next_in, to->in);
    TALLY_WRITE(to, in, edge);
}

/* A chain of diamonds, each with an edge back to where it forks, and one from the end to the entry. */
static Block *new_graph(int diamonds) {
    Block *entry = new_block(), *last = entry;
    TALLY_ROOT(entry, last);
    for (int i = 0; i < diamonds; i++) {
        Block *left = new_block_after(entry);
        TALLY_ROOT(left);
        Block *right = new_block_after(entry);
        TALLY_ROOT(right);
        Block *join = new_block_after(entry);
        TALLY_ROOT(join);
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

/* The number of edges back to a block that is still open in a walk in depth, each of which makes a latch of a loop. */
static long find_loops(Block *entry, Block *block) {
    TALLY_ROOT(entry, block);
    long found = 0;
    block->state = OPEN;
    Edge *edge = block->out;
    TALLY_ROOT(edge);
    for (; edge; edge = edge->next_out) {
        if (edge->to->state == NEW) {
            found += find_loops(entry, edge->to);
        } else if (edge->to->state == OPEN) {
            if (!edge->to->header_of) {
                Loop *loop = TALLY_NEW(Loop);
                loop->latches = 0;
                TALLY_WRITE(loop, parent, entry->header_of);
                TALLY_WRITE(loop, header, edge->to);
                TALLY_WRITE(edge->to, header_of, loop);
            }
            TALLY_WRITE(block, latch_of, edge->to->header_of);
            found += ++block->latch_of->latches;
        }
    }
    block->state = DONE;
    return found;
}

long havlak(void) {
    int parts = sizes.live_objects / OBJECTS;
    Blocks *entries = TALLY_NEW_ARRAY(Blocks, parts);
    TALLY_ROOT(entries);
    long sum = 0;
    for (int i = 0; i < parts; i++) {
        TALLY_WRITE(entries, at[i], new_graph(DIAMONDS));
        sum += find_loops(entries->at[i], entries->at[i]);
    }
    for (int i = 0; i < parts; i++) connect(entries->at[i]->next, entries->at[random_below(parts)]);

    first_tick();
    for (int replacement = 0; replacement < sizes.replacements / 2; replacement++) {
        Block *at = entries->at[random_below(parts)];
        TALLY_ROOT(at);
        Block *graph = new_graph(1 + random_below(3));
        TALLY_ROOT(graph);
        refer(graph->next, at->next);
        sum += find_loops(graph, graph);
        if (random_word() >> 31) {
            if (at->hanging) sum += at->hanging->header_of->latches;
            TALLY_WRITE(at, hanging, graph);
        }
        if (!(replacement & 15)) tick();
    }
    return sum;
}
