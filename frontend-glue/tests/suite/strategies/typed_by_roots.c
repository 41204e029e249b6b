/* Objects that do not say what they are: the metadata of roots does, to a callback of tally_trace_with. A link is an address with all
 * bits inverted, so that who reads words as they are finds nothing. With an argument there is less of everything. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

typedef struct Cell {
    uintptr_t next;
    long number;
} Cell;

typedef struct Tree {
    struct Tree *left, *right;
    uintptr_t cells;
} Tree;

/* Two descriptions each show one half. */
typedef struct Halves {
    uintptr_t first;
    Cell *second;
} Halves;

/* Of a ring: each member is FORTH from one neighbour and BACK from the other. */
typedef struct Member {
    uintptr_t next;
    uintptr_t cell;
} Member;

typedef struct Typed {
    void *held;
    long number;
} Typed;
TALLY_TYPE(Typed, held);

enum { BIG_WORDS = 40000 };
enum kind { CELL, TREE, BIG, FIRST_HALF, SECOND_HALF, FORTH, BACK, NOTHING };
static const enum kind cell = CELL, tree = TREE, big = BIG, first_half = FIRST_HALF, second_half = SECOND_HALF, forth = FORTH,
                       back = BACK, nothing = NOTHING;

#define link_to(object) (~(uintptr_t)(object))
#define linked(link) ((void *)~(link))

static void visit_link(uintptr_t link, const void *meta, tally_visit_slot visit) {
    void *object = linked(link);
    visit(&object, meta);
}

static void read_object(void **slot, const void *meta, tally_visit_slot visit) {
    switch (*(const enum kind *)meta) {
    case CELL: visit_link(((Cell *)*slot)->next, &cell, visit); break;
    case TREE: {
        Tree *node = *slot;
        visit((void **)&node->left, &tree);
        visit((void **)&node->right, &tree);
        visit_link(node->cells, &cell, visit);
        break;
    }
    case BIG:
        for (int i = 0; i < BIG_WORDS; i += 1000) visit_link(((uintptr_t *)*slot)[i], &cell, visit);
        break;
    case FIRST_HALF: visit_link(((Halves *)*slot)->first, &cell, visit); break;
    case SECOND_HALF: visit((void **)&((Halves *)*slot)->second, &cell); break;
    case FORTH: visit_link(((Member *)*slot)->next, &back, visit); break;
    case BACK:
        visit_link(((Member *)*slot)->next, &forth, visit);
        visit_link(((Member *)*slot)->cell, &cell, visit);
        break;
    case NOTHING: break;
    }
}

static Cell *new_cell(Cell *next, long number) {
    TALLY_ROOT_WITH(&cell, next);
    Cell *made = llvm_gc_allocate(sizeof(Cell));
    made->next = link_to(next);
    made->number = number;
    return made;
}

static Cell *list_of(long length) {
    Cell *list = NULL;
    TALLY_ROOT_WITH(&cell, list);
    for (long i = 1; i <= length; i++) {
        new_cell(NULL, -i);
        list = new_cell(list, i);
    }
    return list;
}

static long sum_of(const Cell *list) {
    long sum = 0;
    for (; list; list = linked(list->next)) sum += list->number;
    return sum;
}

static Tree *tree_of(int depth) {
    Tree *left = NULL, *right = NULL;
    Cell *cells = NULL;
    TALLY_ROOT_WITH(&tree, left, right);
    TALLY_ROOT_WITH(&cell, cells);
    if (depth > 0) {
        left = tree_of(depth - 1);
        right = tree_of(depth - 1);
    }
    cells = list_of(depth);
    Tree *made = llvm_gc_allocate(sizeof(Tree));
    made->left = left;
    made->right = right;
    made->cells = link_to(cells);
    return made;
}

static long sum_of_tree(const Tree *node) {
    return node ? sum_of(linked(node->cells)) + sum_of_tree(node->left) + sum_of_tree(node->right) : 0;
}

static long large_object(void) {
    uintptr_t *words = llvm_gc_allocate(BIG_WORDS * sizeof(uintptr_t));
    TALLY_ROOT_WITH(&big, words);
    for (int i = 0; i < BIG_WORDS; i += 1000) {
        Cell *made = list_of(3);
        words[i] = link_to(made);
    }
    list_of(1000);
    long sum = 0;
    for (int i = 0; i < BIG_WORDS; i += 1000) sum += sum_of(linked(words[i]));
    return sum;
}

static long two_descriptions(void) {
    Halves *object = llvm_gc_allocate(sizeof(Halves)), *again = object;
    TALLY_ROOT_WITH(&first_half, object);
    TALLY_ROOT_WITH(&second_half, again);
    Cell *made = list_of(10);
    object->first = link_to(made);
    made = list_of(20);
    object->second = made;
    llvm_gc_collect();
    list_of(100);
    return sum_of(linked(object->first)) * 1000 + sum_of(again->second);
}

/* The members are an odd number, so that all get both descriptions. */
static long ring_with_two_descriptions(int members) {
    Member *first = llvm_gc_allocate(sizeof(Member)), *last = first;
    TALLY_ROOT_WITH(&forth, first);
    TALLY_ROOT_WITH(&back, last);
    first->next = link_to(first);
    first->cell = link_to(NULL);
    for (int i = 1; i < members; i++) {
        Member *made = llvm_gc_allocate(sizeof(Member));
        made->next = link_to(first);
        made->cell = link_to(NULL);
        last->next = link_to(made);
        last = made;
    }
    last = NULL;
    Member *at = first;
    TALLY_ROOT_WITH(&back, at);
    do {
        Cell *made = new_cell(NULL, 7);
        at->cell = link_to(made);
        at = linked(at->next);
    } while (at != first);
    at = NULL;
    llvm_gc_collect();
    list_of(100);
    long sum = 0;
    at = first;
    do {
        sum += sum_of(linked(at->cell));
        at = linked(at->next);
    } while (at != first);
    return sum;
}

/* A number that is the address of an object holds it only where nothing says that it is a number. */
static const char *numbers_hold_nothing(void) {
    Cell *number = new_cell(NULL, 0);
    TALLY_ROOT_WITH(&cell, number);
    void *weak = NULL;
    TALLY_ROOT(weak);
    {
        Cell *dead = new_cell(NULL, 1);
        TALLY_ROOT_WITH(&cell, dead);
        number->number = (long)dead;
        weak = tally_weak_new(dead);
        dead = NULL;
    }
    llvm_gc_collect();
    return tally_weak_get(weak) ? "held" : "dead";
}

/* An object of tally_new is read by its type, whatever a root says; what it leads to is read word by word. */
static long types_of_their_own(void) {
    Typed *typed = TALLY_NEW(Typed);
    TALLY_ROOT_WITH(&nothing, typed);
    Halves *halves = llvm_gc_allocate(sizeof(Halves));
    TALLY_WRITE(typed, held, halves);
    Cell *made = new_cell(NULL, 5);
    ((Halves *)typed->held)->second = made;
    llvm_gc_collect();
    list_of(100);
    return ((Halves *)typed->held)->second->number;
}

int main(int words, char **arguments) {
    (void)arguments;
    int few = words > 1;
    tally_trace_with(read_object);
    Cell *list = list_of(few ? 100 : 300000);
    TALLY_ROOT_WITH(&cell, list);
    llvm_gc_collect();
    printf("list %ld\n", sum_of(list));
    Tree *all = tree_of(few ? 3 : 12);
    TALLY_ROOT_WITH(&tree, all);
    llvm_gc_collect();
    printf("tree %ld\n", sum_of_tree(all));
    printf("large %ld\n", large_object());
    printf("two %ld\n", two_descriptions());
    printf("ring %ld\n", ring_with_two_descriptions(few ? 5 : 10001));
    printf("number %s\n", numbers_hold_nothing());
    printf("typed %ld\n", types_of_their_own());
    printf("list %ld\n", sum_of(list));
    return 0;
}
