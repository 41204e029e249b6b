/* The objects that the operations are counted on, and the operations. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <tally_gc.h>

enum { TIMES = 1000 };

typedef struct Node {
    struct Node *a, *b;
    long value;
} Node;
TALLY_TYPE(Node, a, b);

/* As large as a node, but never part of a cycle: a decrement has nothing to note. */
typedef struct Leaf {
    struct Node *a, *b;
    long value;
} Leaf;
TALLY_ACYCLIC_TYPE(Leaf, a, b);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

typedef struct Two {
    Node *first, *second;
} Two;
TALLY_TYPE(Two, first, second);

/* A node, or a number: bit 0 tells. */
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 1, 0, ~UINT64_C(1));

/* An object or a number, and the tag that tells which. */
enum { NUMBER = 1, OBJECT = 0x40 };
typedef struct Value {
    union {
        Node *node;
        uint64_t number;
    } as;
    uint64_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, OBJECT, OBJECT);

/* A holder whose only reference stands in a pair, where `a` of a node is. */
typedef struct Box {
    Value content;
    long value;
} Box;
TALLY_TYPE_OF_PAIRS(Box, Value, content);

typedef void Operation(Nodes *holders, Nodes *values);
Operation measured_loop, measured_write_null, measured_write, measured_alone,
    measured_write_null_alone, measured_write_alone, measured_allocate, measured_temporary, measured_safepoint,
    measured_not_held, measured_held, measured_held_word, measured_held_number, measured_held_two, measured_held_pair, measured_let_go,
    measured_number_told, measured_lent_by_turns, measured_death_in_flight, measured_read, measured_write_array, measured_pair_number, measured_pair, measured_collect, collect_below,
    measured_switch;

/* In a module of its own: a safepoint that the operations cannot see into. */
void call(Node *node);
/* Native code that has the address of a root, and may keep it. */
void lend(Node **root);

#endif
