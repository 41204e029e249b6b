/* Words that one file writes to objects of its own and of another file's types: read as the object's type reads them, whatever the
 * writer's types do. Each object that a word refers to is counted once, and dies when that word has gone. Prints "right" if all is. */
#include <stdio.h>
#include <tally_gc.h>

static int dead[64], born, faults;
typedef struct Thing { long id; struct Thing *other; } Thing;
static void note(Thing *thing) { dead[thing->id]++; }
TALLY_FINALIZED_TYPE(Thing, note, other);
static __attribute__((noinline)) Thing *make(void) {
    Thing *thing = TALLY_NEW(Thing);
    thing->id = born++;
    return thing;
}

/* Here references are as they are, and numbers have a bit; there it is the other way round. */
typedef uint64_t Even;
TALLY_TAGGED_TYPE(Even, 1, 0, ~UINT64_C(0));
typedef struct Box { long before; Even word; } Box;
TALLY_TYPE_TAGGED(Box, Even, word);
typedef struct Boxes { uint64_t length; Even at[]; } Boxes;
TALLY_ARRAY_TYPE_TAGGED(Boxes, Even, length, at);
typedef struct Plain { long before; void *word; } Plain;
TALLY_TYPE(Plain, word);
void *make_odd(void);
void *make_odd_array(uint64_t length);
void *make_nan(void);

static void is(int id, int died, int line) {
    if (dead[id] == died) return;
    printf("line %d: object %d died %d times\n", line, id, dead[id]);
    faults++;
}
#define DIED(id, times) (tally_safepoint(), is(id, times, __LINE__))

/* The word is written, replaced by a number, written by another word of the same object, and taken along by the object's death. */
static __attribute__((noinline)) void write(uint64_t *slot, void *object, uint64_t tag, uint64_t number) {
    TALLY_ROOT(object);
    for (int round = 0; round < 2; round++) {
        int first = born;
        tally_gcwrite_i64((uint64_t)make() | tag, object, slot);
        DIED(first, 0);
        tally_gcwrite_i64(number, object, slot);
        DIED(first, 1);
        tally_gcwrite_i64(number + 2, object, slot);
        tally_gcwrite_i64((uint64_t)make() | tag, object, slot);
        tally_gcwrite_i64(*slot, object, slot);
        DIED(first + 1, 0);
        tally_gcwrite_i64((uint64_t)make() | tag, object, slot);
        DIED(first + 1, 1);
        DIED(first + 2, 0);
    }
}

int main(void) {
    void *a = TALLY_NEW(Box), *b = NULL, *c = NULL, *d = NULL, *e = NULL, *f = NULL;
    TALLY_ROOT(a, b, c, d, e, f);
    b = TALLY_NEW_ARRAY(Boxes, 5000), c = TALLY_NEW(Plain), d = make_odd(), e = make_odd_array(4), f = make_nan();
    write(&((Box *)a)->word, a, 0, 7);
    write(&((Boxes *)b)->at[4000], b, 0, 9);
    write((uint64_t *)&((Plain *)c)->word, c, 0, 0);
    /* There an even word is a number, though it looks like an address. */
    write((uint64_t *)d + 1, d, 1, (uint64_t)a);
    write((uint64_t *)e + 3, e, 1, (uint64_t)b);
    write((uint64_t *)f + 1, f, UINT64_C(0xfffc) << 48, 5);
    a = b = c = d = e = f = NULL;
    tally_safepoint();
    for (int id = 0; id < born; id++) is(id, 1, __LINE__);
    if (!faults && born == 6 * 6) printf("right\n");
    return 0;
}
