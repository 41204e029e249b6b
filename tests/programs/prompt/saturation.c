/* Counts near their limit. The header's half of the count is the 32-bit word eight bytes in front of the object. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Thing { struct Thing *next; long id; } Thing;
static int dead;
static void died(Thing *thing) { dead += thing->id; }
TALLY_FINALIZED_TYPE(Thing, died, next);
typedef struct Row { uint64_t length; Thing *at[]; } Row;
TALLY_ARRAY_TYPE(Row, length, at);

enum { MANY = 1000 };

static volatile uint32_t *high_of(Thing *thing) { return (volatile uint32_t *)thing - 2; }

/* Refers to the thing from so many elements, and lets go of it again. */
static void share(Row *row, Thing *thing) {
    TALLY_ROOT(row, thing);
    for (uint64_t i = 0; i < row->length; i++) TALLY_WRITE(row, at[i], thing);
    printf("shared\n");
    for (uint64_t i = 0; i < row->length; i++) TALLY_WRITE(row, at[i], NULL);
}

static void try_with(long id, uint32_t high) {
    Thing *thing = TALLY_NEW(Thing);
    TALLY_ROOT(thing);
    Row *row = TALLY_NEW_ARRAY(Row, MANY);
    TALLY_ROOT(row);
    thing->id = id;
    *high_of(thing) = high;
    share(row, thing);
    uint32_t first = *high_of(thing);
    for (int i = 0; i < 300; i++) share(row, thing);
    uint32_t last = *high_of(thing);
    printf("%ld: %s, %s\n", id, first >= 0x80000000u ? "stuck" : "counted", last >= first ? "not less" : "less");
}

int main(void) {
    try_with(1, 0);
    printf("a count that fits brings death: %d\n", dead);
    try_with(2, 0x7fffffc0u);
    try_with(3, 0xbfffffc0u);
    try_with(4, 0xffffffc0u);
    printf("one that does not, none: %d\n", dead - 1);
    tally_collect();
    printf("a collection finds them: %d\n", dead - 1);
}
