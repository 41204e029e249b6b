/* Loops of writes that meet no safepoint but polls, in which counts are put off. A model in plain numbers says which object dies
 * when; whatever died at the first call behind a loop must be what the model says, in its order. Prints "right" if so. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

enum { PLACES = 64, OBJECTS = 1 << 16 };

static int died[OBJECTS], deaths, expected[OBJECTS], expectations, born, faults;

typedef struct Thing { long id; struct Thing *other; } Thing;
static void note(Thing *thing) { died[deaths++] = thing->id; }
TALLY_FINALIZED_TYPE(Thing, note, other);
typedef struct Table { uint64_t length; Thing *at[]; } Table;
TALLY_ARRAY_TYPE(Table, length, at);

static Thing *global;
/* The model: what holds what, by number, 0 for nothing; and how many hold it. */
static int at[PLACES], in_root, in_global, holders[OBJECTS];

static uint32_t random_state = 1;
static inline uint32_t draw(uint32_t below) { return (random_state = random_state * 1664525u + 1013904223u) / 65536 % below; }

static inline void put(int *place, int id) {
    int old = *place;
    if (id) holders[id]++;
    *place = id;
    if (old && --holders[old] == 0) expected[expectations++] = old;
}

static __attribute__((noinline)) void check(int writes) {
    if (deaths == expectations && memcmp(died, expected, sizeof(int) * deaths) == 0) return;
    printf("after %d writes: %d died, %d should have\n", writes, deaths, expectations);
    faults++;
}

static __attribute__((noinline)) Thing *make(void) {
    Thing *thing = TALLY_NEW(Thing);
    thing->id = ++born;
    return thing;
}

static __attribute__((noinline)) void fill(Table *table) {
    TALLY_ROOT(table);
    for (int place = 0; place < PLACES; place++) {
        if (table->at[place]) continue;
        TALLY_WRITE(table, at[place], make());
        put(&at[place], born);
    }
}

/* Nothing here is a call: `calls` is 0 in all rounds but some. */
static __attribute__((noinline)) void shuffle(Table *table, int writes, int calls) {
    Thing *root = NULL;
    TALLY_ROOT(table, root);
    for (int write = 0; write < writes; write++) {
        int to = draw(PLACES), from = draw(PLACES);
        switch (draw(6)) {
        case 0: case 1:
            TALLY_WRITE(table, at[to], table->at[from]);
            put(&at[to], at[from]);
            break;
        case 2:
            TALLY_WRITE(table, at[to], NULL);
            put(&at[to], 0);
            break;
        case 3:
            root = table->at[from];
            put(&in_root, at[from]);
            break;
        case 4:
            TALLY_WRITE_GLOBAL(global, table->at[from]);
            put(&in_global, at[from]);
            break;
        default:
            TALLY_WRITE(table, at[to], root);
            put(&at[to], in_root);
        }
        if (calls && write % 97 == 0) check(write);
    }
    put(&in_root, 0);
}

/* More references to one object than its count's byte holds, all noted before any is counted; and away with them again. */
static __attribute__((noinline)) void crowd(Table *table, Thing *thing) {
    TALLY_ROOT(table, thing);
    for (int round = 0; round < 5; round++) {
        for (int place = 0; place < PLACES * 16; place++) TALLY_WRITE(table, at[place], thing);
        for (int place = 0; place < PLACES * 16; place++) TALLY_WRITE(table, at[place], NULL);
    }
}

/* The thread has no heap yet, and nothing to count. */
static Thing *elsewhere;
static void *first_writes(void *unused) {
    for (int write = 0; write < 2000; write++) TALLY_WRITE_GLOBAL(elsewhere, NULL);
    return unused;
}

int main(void) {
    Table *table = TALLY_NEW_ARRAY(Table, PLACES), *large = NULL;
    TALLY_ROOT(table, large);
    int writes[] = {1, 2, 7, 60, 511, 512, 513, 5000};
    for (int round = 0; round < 400; round++) {
        fill(table);
        shuffle(table, writes[round % 8], round % 3 == 0);
        check(writes[round % 8]);
    }
    large = TALLY_NEW_ARRAY(Table, PLACES * 16);
    TALLY_WRITE(large, at[0], NULL);
    int before = deaths;
    crowd(large, make());
    expected[expectations++] = born;
    check(0);
    if (deaths != before + 1) printf("a crowd's object died %d times\n", deaths - before), faults++;
    pthread_t thread;
    if (pthread_create(&thread, NULL, first_writes, NULL) == 0) pthread_join(thread, NULL);
    TALLY_WRITE_GLOBAL(global, NULL);
    puts(faults ? "wrong" : "right");
}
