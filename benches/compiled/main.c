/* `EXECUTABLE NAME` brings objects into the state that NAME asks for and has the operation of that name work on them.
 *
 * The names are those of ../paths.txt. What is done here is not counted: callgrind collects inside `measured_…` only. Afterwards the
 * state that the operation leaves behind is checked; a status other than 0 fails the bench. */
#include <stdio.h>
#include <string.h>
#include "operations.h"

typedef void State(Nodes *holders, Nodes *values);

static void fill_with_nodes(Nodes *nodes) {
    TALLY_ROOT(nodes);
    for (int i = 0; i < TIMES; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(nodes, at[i], node);
    }
}

static void fill_with_leaves(Nodes *nodes) {
    TALLY_ROOT(nodes);
    for (int i = 0; i < TIMES; i++) {
        Leaf *leaf = TALLY_NEW(Leaf);
        leaf->value = i;
        TALLY_WRITE(nodes, at[i], (Node *)leaf);
    }
}

/* Holders are boxes with a number in them; values are as in `apart`. */
static void boxes(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_leaves(values);
    for (int i = 0; i < TIMES; i++) {
        Box *box = TALLY_NEW(Box);
        TALLY_WRITE_PAIR(box, content, ((Value){.as.node = values->at[i], .tag = OBJECT}));
        TALLY_WRITE_PAIR(box, content, ((Value){.as.number = 1, .tag = NUMBER}));
        TALLY_WRITE(holders, at[i], (Node *)box);
    }
}

/* The same with the values in them. */
static void boxes_with_values(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    boxes(holders, values);
    for (int i = 0; i < TIMES; i++)
        TALLY_WRITE_PAIR((Box *)holders->at[i], content, ((Value){.as.node = values->at[i], .tag = OBJECT}));
}

static void have_holders_hold_values(Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        TALLY_WRITE(holders->at[i], a, values->at[TIMES - 1 - i]);
        TALLY_WRITE(holders->at[i], b, values->at[i]);
    }
}

/* Holders with null fields; values that are never part of a cycle, and have lost a reference before: under the prompt plan they are
 * settled. Under the deferred plan all are young. */
static void apart(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    fill_with_leaves(values);
    for (int i = 0; i < TIMES; i++) {
        TALLY_WRITE(holders->at[i], a, values->at[i]);
        TALLY_WRITE(holders->at[i], a, NULL);
    }
}

/* The same after a collection. */
static void apart_and_mature(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    apart(holders, values);
    tally_collect();
}

/* The same after a first write to each holder. */
static void apart_and_logged(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    apart_and_mature(holders, values);
    for (int i = 0; i < TIMES; i++) TALLY_WRITE(holders->at[i], b, values->at[i]);
}

/* Each value has three references: two of holders, one of the array. */
static void held(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    apart(holders, values);
    have_holders_hold_values(holders, values);
}

/* The same with values that may be part of cycles, and are neither young nor candidates: since then half a MiB was allocated a few times. */
static void nodes_held(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    fill_with_nodes(values);
    have_holders_hold_values(holders, values);
    for (int i = 0; i < 200 * TIMES; i++) TALLY_NEW(Node);
    tally_collect();
}

/* Each holder has a leaf that nothing else refers to. */
static void held_alone(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    apart(holders, values);
    for (int i = 0; i < TIMES; i++) {
        TALLY_WRITE(holders->at[i], a, values->at[i]);
        TALLY_WRITE(values, at[i], NULL);
    }
}

/* The arrays and nothing in them. */
static void empty(Nodes *holders, Nodes *values) {
    (void)holders;
    (void)values;
}

/* The first holder has a list of a thousand nodes. */
static void list(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    for (int i = 0; i < TIMES; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, a, holders->at[0]->a);
        TALLY_WRITE(holders->at[0], a, node);
    }
}

/* The first holder has a tree of a thousand nodes: node n's children are nodes 2n + 1 and 2n + 2. */
static void tree(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    fill_with_nodes(values);
    for (int i = TIMES - 1; i > 0; i--) {
        Node *parent = values->at[(i - 1) / 2];
        if (i % 2)
            TALLY_WRITE(parent, a, values->at[i]);
        else
            TALLY_WRITE(parent, b, values->at[i]);
        TALLY_WRITE(values, at[i], NULL);
    }
    TALLY_WRITE(holders->at[0], a, values->at[0]);
    TALLY_WRITE(values, at[0], NULL);
}

/* Each holder has a node with a node, and each value is an array in blocks of its own. */
static void beside_large(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    for (int i = 0; i < TIMES; i++) {
        Node *node = TALLY_NEW(Node);
        TALLY_ROOT(node);
        TALLY_WRITE(node, a, TALLY_NEW(Node));
        TALLY_WRITE(holders->at[i], a, node);
        TALLY_WRITE(values, at[i], (Node *)TALLY_NEW_ARRAY(Nodes, 2100));
    }
}

static void *answer(void *value) {
    for (;;) value = tally_stack_switch(NULL, value);
}

/* The first value is a stack that has stopped in a switch. */
static void beside_stack(Nodes *holders, Nodes *values) {
    TALLY_ROOT(holders, values);
    fill_with_nodes(holders);
    TALLY_WRITE(values, at[0], tally_stack_new(answer, 0));
    tally_stack_switch(values->at[0], NULL);
}

/* What `a` of each holder is afterwards. */
enum After { UNCHANGED, IS_NULL, IS_VALUE, ARE_VALUES, HOLDERS_ARE_NEW, FIRST_IS_NULL };

static const struct Bench {
    const char *name;
    State *state;
    Operation *operation;
    enum After after;
} benches[] = {
    {"loop", held, measured_loop, UNCHANGED},
    {"read", held, measured_read, UNCHANGED},
    {"write_array", apart_and_mature, measured_write_array, ARE_VALUES},
    {"collect", held, measured_collect, UNCHANGED},
    {"collect_below", held, collect_below, UNCHANGED},
    {"alone", held, measured_alone, UNCHANGED},
    {"write_null", apart, measured_write_null_alone, IS_NULL},
    {"increment", apart, measured_write_alone, IS_VALUE},
    {"decrement", held, measured_write_null_alone, IS_NULL},
    {"decrement_to_candidate", nodes_held, measured_write_null_alone, IS_NULL},
    {"decrement_to_death", held_alone, measured_write_null_alone, IS_NULL},
    {"write_over", held, measured_write_alone, IS_VALUE},
    {"put_off_null", apart, measured_write_null, IS_NULL},
    {"put_off_increment", apart, measured_write, IS_VALUE},
    {"put_off_decrement", held, measured_write_null, IS_NULL},
    {"put_off_candidate", nodes_held, measured_write_null, IS_NULL},
    {"put_off_over", held, measured_write, IS_VALUE},
    {"write_young", apart, measured_write, IS_VALUE},
    {"pair_number", boxes, measured_pair_number, IS_NULL},
    {"pair_over", boxes_with_values, measured_pair, IS_VALUE},
    {"pair_young", boxes, measured_pair, IS_VALUE},
    {"write_clean", apart_and_mature, measured_write, IS_VALUE},
    {"write_logged", apart_and_logged, measured_write, IS_VALUE},
    {"allocate", empty, measured_allocate, HOLDERS_ARE_NEW},
    {"temporary", held, measured_temporary, UNCHANGED},
    {"safepoint", held, measured_safepoint, UNCHANGED},
    {"not_held", held, measured_not_held, UNCHANGED},
    {"held", held, measured_held, UNCHANGED},
    {"held_word", held, measured_held_word, UNCHANGED},
    {"held_number", held, measured_held_number, UNCHANGED},
    {"held_two", held, measured_held_two, UNCHANGED},
    {"held_pair", held, measured_held_pair, UNCHANGED},
    {"number_told", held, measured_number_told, UNCHANGED},
    {"lent_by_turns", held, measured_lent_by_turns, UNCHANGED},
    {"death_beside_large", beside_large, measured_death_in_flight, IS_NULL},
    {"switch", beside_stack, measured_switch, HOLDERS_ARE_NEW},
    {"reclaim_list", list, measured_let_go, FIRST_IS_NULL},
    {"reclaim_tree", tree, measured_let_go, FIRST_IS_NULL},
};

static int is_as_it_should_be(enum After after, Nodes *holders, Nodes *values) {
    for (int i = 0; i < TIMES; i++) {
        Node *holder = holders->at[i];
        if (after == IS_NULL && holder->a) return 0;
        if (after == IS_VALUE && holder->a != values->at[i]) return 0;
        if (after == ARE_VALUES && holder != values->at[i]) return 0;
        if (after == HOLDERS_ARE_NEW && !(holder && !holder->a && !holder->b)) return 0;
        if (after == UNCHANGED && holder->a->value + holder->b->value != TIMES - 1) return 0;
    }
    return after != FIRST_IS_NULL || !holders->at[0]->a;
}

int main(int count, char **arguments) {
    for (size_t place = 0; count == 2 && place < sizeof benches / sizeof *benches; place++) {
        const struct Bench *bench = &benches[place];
        if (strcmp(arguments[1], bench->name) != 0) continue;
        Nodes *holders = NULL, *values = NULL;
        TALLY_ROOT(holders, values);
        holders = TALLY_NEW_ARRAY(Nodes, TIMES);
        values = TALLY_NEW_ARRAY(Nodes, TIMES);
        bench->state(holders, values);
        bench->operation(holders, values);
        if (is_as_it_should_be(bench->after, holders, values)) return 0;
        fprintf(stderr, "%s: the objects are not as they should be\n", bench->name);
        return 1;
    }
    fprintf(stderr, "usage: %s NAME, a name of benches/paths.txt\n", arguments[0]);
    return 2;
}
