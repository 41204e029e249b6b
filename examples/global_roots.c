/* Global roots: an undo history that the whole program shares.
 *
 * A global variable becomes a root by the first TALLY_WRITE_GLOBAL that names it; no declaration is needed, and ordinary loads read
 * it. The history is a doubly linked list with a moving position: editing after an undo drops a chain of cyclic garbage from the
 * middle of a live structure. At the end the globals are cleared, or the leak check would report what they hold.
 *
 *     tally run --leak-check examples/global_roots.c
 */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Line {
    uint64_t length;
    char at[];
} Line;
TALLY_DATA_ARRAY_TYPE(Line, length, at);

typedef struct State {
    struct State *before, *after;
    Line *line;
} State;
TALLY_TYPE(State, before, after, line);

static State *present; /* what the program sees; its past and its undone future hang on it */
static struct {
    long undone, edits;
    State *oldest;
} history;

static void edit(char appended) {
    Line *old = present->line;
    Line *line = TALLY_NEW_ARRAY(Line, present->line->length + 1);
    TALLY_ROOT(old, line);
    for (uint64_t i = 0; i < old->length; i++) line->at[i] = old->at[i];
    line->at[old->length] = appended;

    State *state = TALLY_NEW(State);
    TALLY_WRITE(state, line, line);
    TALLY_WRITE(state, before, present);
    TALLY_WRITE(present, after, state); /* the future that was undone, if any, goes here */
    TALLY_WRITE_GLOBAL(present, state);
    history.edits++;
}

static void undo(void) {
    if (!present->before) return;
    TALLY_WRITE_GLOBAL(present, present->before);
    history.undone++;
}

static void redo(void) {
    if (present->after) TALLY_WRITE_GLOBAL(present, present->after);
}

static void print(const char *what) { printf("%-7s %.*s\n", what, (int)present->line->length, present->line->at); }

int main(void) {
    State *first = TALLY_NEW(State);
    TALLY_ROOT(first);
    TALLY_WRITE(first, line, TALLY_NEW_ARRAY(Line, 0));
    TALLY_WRITE_GLOBAL(present, first);
    TALLY_WRITE_GLOBAL(history.oldest, first);
    first = NULL;

    for (const char *c = "tallying"; *c; c++) edit(*c);
    print("typed");
    for (int i = 0; i < 3; i++) undo();
    print("undone");
    redo();
    print("redone");
    edit('?');
    print("edited");

    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 12; i++) edit('a' + (round + i) % 26);
        for (int i = 0; i < 12; i++) undo();
    }
    print("later");

    long states = 0;
    for (State *s = history.oldest; s; s = s->after) states++;
    printf("%ld edits, %ld undone, %ld states in the history\n", history.edits, history.undone, states);

    TALLY_WRITE_GLOBAL(present, NULL);
    TALLY_WRITE_GLOBAL(history.oldest, NULL);
}
