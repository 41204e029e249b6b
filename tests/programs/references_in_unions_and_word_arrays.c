/* A union, an array of words, a struct with a word: none a root, each the only holder of an object over a loop that only writes.
 * Such a loop is no safepoint, so a poll must not stand in it. */
#include <stdio.h>
#include <tally_gc.h>

typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 1, 0, ~UINT64_C(1));
typedef struct Cell { Word head; long id; } Cell;
TALLY_TYPE_TAGGED(Cell, Word, head);
typedef union Either { long number; Cell *cell; } Either;
typedef struct Tagged { long number; Word word; } Tagged;

static Cell *holder(void) {
    Cell *inner = TALLY_NEW(Cell);
    inner->id = 42;
    TALLY_ROOT(inner);
    Cell *cell = TALLY_NEW(Cell);
    TALLY_WRITE_TAGGED(cell, head, (Word)(uintptr_t)inner);
    return cell;
}

static long in_a_union(Cell *cell, long n) {
    TALLY_ROOT(cell);
    tally_collect();
    Either hidden;
    hidden.cell = (Cell *)(uintptr_t)cell->head;
    for (long i = 0; i < n; i++) TALLY_WRITE_TAGGED(cell, head, (Word)(2 * i + 1));
    return hidden.cell->id;
}

static long in_an_array(Cell *cell, long n) {
    TALLY_ROOT(cell);
    tally_collect();
    Word hidden[2] = {cell->head, 1};
    for (long i = 0; i < n; i++) TALLY_WRITE_TAGGED(cell, head, (Word)(2 * i + 1));
    return ((Cell *)(uintptr_t)hidden[n & 1])->id;
}

static long in_a_struct(Cell *cell, long n) {
    TALLY_ROOT(cell);
    tally_collect();
    Tagged hidden = {n, cell->head};
    for (long i = 0; i < n; i++) TALLY_WRITE_TAGGED(cell, head, (Word)(2 * i + 1));
    return ((Cell *)(uintptr_t)hidden.word)->id + hidden.number;
}

int main(void) {
    printf("%ld\n", in_a_union(holder(), 10));
    printf("%ld\n", in_an_array(holder(), 10));
    printf("%ld\n", in_a_struct(holder(), 10));
}
