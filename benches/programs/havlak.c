/* havlak: finds the loops of a control flow graph, after Hundt and "Are We Fast Yet". A graph of thousands of blocks
 * lives for a round; each search makes sets of blocks, lists of predecessors and a tree of loops, which die at its
 * end. Blocks and edges, loops and their parents refer to each other.
 */
#include "program.h"
#include "vector.h"

typedef struct Block {
    Vector *in, *out;
    long name, number; /* the number is that of the last search */
} Block;
TALLY_TYPE(Block, in, out);

typedef struct Loop {
    struct Loop *parent;
    Vector *children, *blocks;
    Block *header;
    int is_reducible, nesting;
} Loop;
TALLY_TYPE(Loop, parent, children, blocks, header);

/* A set of blocks that a loop has swallowed, by the chain to its representative. */
typedef struct Set {
    struct Set *parent;
    Block *block;
    Loop *loop;
    long number;
} Set;
TALLY_TYPE(Set, parent, block, loop);

typedef struct Numbers {
    uint64_t capacity;
    long at[];
} Numbers;
TALLY_DATA_ARRAY_TYPE(Numbers, capacity, at);

/* What a search knows of a block. */
typedef struct Node {
    Set *set;
    Numbers *back, *others; /* predecessors in the block's own subtree, and the other ones */
    long backs, all_others, last;
    int kind;
} Node;
TALLY_TYPE(Node, set, back, others);

enum { NO_HEADER, REDUCIBLE, SELF, IRREDUCIBLE };
enum { UNVISITED = -1, MANY = 32 << 10 };

static Block *block_named(Vector *graph, long name) {
    TALLY_ROOT(graph);
    while (graph->length <= name) {
        Block *block = TALLY_NEW(Block);
        TALLY_ROOT(block);
        block->name = graph->length;
        TALLY_WRITE(block, in, new_vector(2));
        TALLY_WRITE(block, out, new_vector(2));
        append(graph, block);
    }
    return graph->items->at[name];
}

static void connect(Vector *graph, long from, long to) {
    TALLY_ROOT(graph);
    Block *source = block_named(graph, from);
    TALLY_ROOT(source);
    Block *target = block_named(graph, to);
    TALLY_ROOT(target);
    append(source->out, target);
    append(target->in, source);
}

static long add_straight(Vector *graph, long from, long count) {
    TALLY_ROOT(graph);
    for (long i = 0; i < count; i++) connect(graph, from + i, from + i + 1);
    return from + count;
}

static long add_diamond(Vector *graph, long from) {
    TALLY_ROOT(graph);
    connect(graph, from, from + 1);
    connect(graph, from, from + 2);
    connect(graph, from + 1, from + 3);
    connect(graph, from + 2, from + 3);
    return from + 3;
}

/* Two loops in a third. */
static long add_loops(Vector *graph, long from) {
    TALLY_ROOT(graph);
    long header = add_straight(graph, from, 1), diamond = add_diamond(graph, header);
    long between = add_straight(graph, diamond, 1), second = add_diamond(graph, between);
    long footer = add_straight(graph, second, 1);
    connect(graph, second, between);
    connect(graph, diamond, header);
    connect(graph, footer, from);
    return add_straight(graph, footer, 1);
}

static Vector *new_graph(int branches, int nests, int loops) {
    Vector *graph = new_vector(64);
    TALLY_ROOT(graph);
    add_straight(graph, 0, 2);
    long last = 2;
    for (int branch = 0; branch < branches; branch++) {
        connect(graph, 2, last + 1);
        last++;
        for (int nest = 0; nest < nests; nest++) {
            long top = last;
            last = add_straight(graph, last, 1);
            for (int i = 0; i < loops; i++) last = add_loops(graph, last);
            long bottom = add_straight(graph, last, 1);
            connect(graph, last, top);
            last = bottom;
        }
        connect(graph, last, 1);
    }
    return graph;
}

static Set *representative(Set *set) {
    Set *top = set;
    TALLY_ROOT(set, top);
    while (top->parent != top) top = top->parent;
    while (set->parent != top) { /* the next search of this set is short */
        Set *parent = set->parent;
        TALLY_WRITE(set, parent, top);
        set = parent;
    }
    return top;
}

static Set *set_of(Vector *nodes, long number) { return ((Node *)nodes->items->at[number])->set; }
static long last_of(Vector *nodes, long number) { return ((Node *)nodes->items->at[number])->last; }
static int is_ancestor(Vector *nodes, long ancestor, long other) { return ancestor <= other && other <= last_of(nodes, ancestor); }

static Node *new_node(Block *block) {
    TALLY_ROOT(block);
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->backs = node->all_others = 0;
    node->kind = NO_HEADER;
    Set *set = TALLY_NEW(Set);
    set->number = block->number;
    TALLY_WRITE(set, parent, set);
    TALLY_WRITE(set, block, block);
    TALLY_WRITE(node, set, set);
    TALLY_WRITE(node, back, TALLY_NEW_ARRAY(Numbers, 2));
    TALLY_WRITE(node, others, TALLY_NEW_ARRAY(Numbers, 2));
    return node;
}

/* The numbers, in an array of twice the size if they filled theirs. */
static Numbers *with_room(Numbers *numbers, long used) {
    if ((uint64_t)used < numbers->capacity) return numbers;
    TALLY_ROOT(numbers);
    Numbers *larger = TALLY_NEW_ARRAY(Numbers, 2 * used);
    memcpy(larger->at, numbers->at, used * sizeof(long));
    FREE(numbers);
    return larger;
}

static void add_back(Node *node, long number) {
    TALLY_ROOT(node);
    TALLY_WRITE(node, back, with_room(node->back, node->backs));
    node->back->at[node->backs++] = number;
}

static void add_other(Node *node, long number) {
    TALLY_ROOT(node);
    for (long i = 0; i < node->all_others; i++)
        if (node->others->at[i] == number) return;
    TALLY_WRITE(node, others, with_room(node->others, node->all_others));
    node->others->at[node->all_others++] = number;
}

/* Numbers all blocks that the block leads to, in the order of a walk in depth. */
static void number_from(Block *block, Vector *nodes) {
    TALLY_ROOT(block, nodes);
    block->number = nodes->length;
    Node *node = new_node(block);
    TALLY_ROOT(node);
    append(nodes, node);
    for (long i = 0; i < block->out->length; i++) {
        Block *next = block->out->items->at[i];
        if (next->number == UNVISITED) number_from(next, nodes);
    }
    node->last = nodes->length - 1;
}

static void sort_edges(Vector *nodes) {
    TALLY_ROOT(nodes);
    for (long number = 0; number < nodes->length; number++) {
        Node *node = nodes->items->at[number];
        TALLY_ROOT(node);
        Vector *in = node->set->block->in;
        TALLY_ROOT(in);
        for (long i = 0; i < in->length; i++) {
            long from = ((Block *)in->items->at[i])->number;
            if (from == UNVISITED) continue;
            if (is_ancestor(nodes, number, from))
                add_back(node, from);
            else
                add_other(node, from);
        }
    }
}

static Loop *new_loop(Block *header, int is_reducible) {
    TALLY_ROOT(header);
    Loop *loop = TALLY_NEW(Loop);
    TALLY_ROOT(loop);
    loop->is_reducible = is_reducible;
    loop->nesting = 0;
    TALLY_WRITE(loop, header, header);
    TALLY_WRITE(loop, children, new_vector(2));
    TALLY_WRITE(loop, blocks, new_vector(4));
    return loop;
}

static int holds(Vector *vector, void *item) {
    for (long i = 0; i < vector->length; i++)
        if (vector->items->at[i] == item) return 1;
    return 0;
}

/* The sets that a walk against the edges from the ends of the back edges meets before the header. */
static Vector *new_body(Vector *nodes, Node *node, long number) {
    TALLY_ROOT(nodes, node);
    Vector *body = new_vector(4);
    TALLY_ROOT(body);
    for (long i = 0; i < node->backs; i++) {
        if (node->back->at[i] == number)
            node->kind = SELF;
        else
            append(body, representative(set_of(nodes, node->back->at[i])));
    }
    if (body->length > 0) node->kind = REDUCIBLE;
    for (long done = 0; done < body->length && body->length < MANY; done++) {
        Node *member = nodes->items->at[((Set *)body->items->at[done])->number];
        TALLY_ROOT(member);
        for (long i = 0; i < member->all_others; i++) {
            Set *set = representative(set_of(nodes, member->others->at[i]));
            TALLY_ROOT(set);
            if (!is_ancestor(nodes, number, set->number)) {
                node->kind = IRREDUCIBLE;
                add_other(node, set->number);
            } else if (set->number != number && !holds(body, set)) {
                append(body, set);
            }
        }
    }
    return body;
}

static void swallow(Loop *loop, Vector *body, Set *header) {
    TALLY_ROOT(loop, body, header);
    for (long i = 0; i < body->length; i++) {
        Set *set = body->items->at[i];
        TALLY_ROOT(set);
        TALLY_WRITE(set, parent, header);
        if (set->loop) {
            TALLY_WRITE(set->loop, parent, loop);
            append(loop->children, set->loop);
        } else {
            append(loop->blocks, set->block);
        }
    }
}

#ifdef FREED_BY_HAND
static void free_nodes(Vector *nodes) {
    for (long i = 0; i < nodes->length; i++) {
        Node *node = nodes->items->at[i];
        free(node->set);
        free(node->back);
        free(node->others);
        free(node);
    }
    free_vector(nodes);
}

static void free_loops(Vector *loops) {
    for (long i = 0; i < loops->length; i++) {
        Loop *loop = loops->items->at[i];
        free_vector(loop->children);
        free_vector(loop->blocks);
        free(loop);
    }
    free_vector(loops);
}

static void free_graph(Vector *graph) {
    for (long i = 0; i < graph->length; i++) {
        Block *block = graph->items->at[i];
        free_vector(block->in);
        free_vector(block->out);
        free(block);
    }
    free_vector(graph);
}
#endif

/* All loops of the graph, the inner ones before those around them. */
static Vector *find_loops(Vector *graph) {
    TALLY_ROOT(graph);
    Vector *loops = new_vector(16), *nodes = NULL;
    TALLY_ROOT(loops, nodes);
    nodes = new_vector(graph->length);
    for (long i = 0; i < graph->length; i++) ((Block *)graph->items->at[i])->number = UNVISITED;
    number_from(graph->items->at[0], nodes);
    sort_edges(nodes);
    for (long number = nodes->length - 1; number >= 0; number--) {
        Node *node = nodes->items->at[number];
        TALLY_ROOT(node);
        Vector *body = new_body(nodes, node, number);
        TALLY_ROOT(body);
        if (node->kind != NO_HEADER) {
            Loop *loop = new_loop(node->set->block, node->kind != IRREDUCIBLE);
            TALLY_ROOT(loop);
            TALLY_WRITE(node->set, loop, loop);
            swallow(loop, body, node->set);
            append(loops, loop);
        }
        free_vector(body);
        if (!(number & 63)) tick();
    }
    BY_HAND(free_nodes(nodes);)
    return loops;
}

/* Loops, blocks and depths, of the outermost loop first. */
static uint64_t sum_of_loops(Vector *loops) {
    uint64_t sum = loops->length;
    for (long i = loops->length - 1; i >= 0; i--) {
        Loop *loop = loops->items->at[i];
        loop->nesting = loop->parent ? loop->parent->nesting + 1 : 0;
        sum = mix(sum, loop->nesting + loop->blocks->length + loop->children->length + loop->is_reducible + loop->header->name);
    }
    return sum;
}

static uint64_t havlak(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        int scale = size > 2 ? 10 : size;
        Vector *graph = new_graph(scale, 4, scale + round % 3);
        TALLY_ROOT(graph);
        tick();
        for (int search = 0; search < 5; search++) {
            Vector *loops = find_loops(graph);
            TALLY_ROOT(loops);
            sum = mix(sum, sum_of_loops(loops));
            BY_HAND(free_loops(loops);)
        }
        BY_HAND(free_graph(graph);)
        tick();
    }
    return sum;
}
PROGRAM(havlak, 120, 2, 1)
