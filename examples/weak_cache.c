/* Weak references, ephemerons and weak maps: a table that gives each name to one symbol, notes about objects that go with them, and
 * a cache whose entries nobody has to remove.
 *
 *     tally run examples/weak_cache.c
 */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Symbol { char name[24]; } Symbol;
TALLY_TYPE(Symbol);
typedef struct Box { struct Box *first, *second; long number; } Box;
TALLY_TYPE(Box, first, second);
/* Whatever hangs on `value` is gone with `key`. */
typedef struct Note { Box *value; Box *key; } Note;
TALLY_EPHEMERON_TYPE(Note, value);

/* Hash-consing: equal names are one object. The table keeps none of them alive. */
typedef struct Names { uint64_t length; void *weak[]; } Names;
TALLY_ARRAY_TYPE(Names, length, weak);

static Symbol *intern(Names *names, const char *name) {
    Symbol *symbol = NULL;
    TALLY_ROOT(names, symbol);
    uint64_t free_place = names->length;
    for (uint64_t i = 0; i < names->length; i++) {
        symbol = names->weak[i] ? tally_weak_get(names->weak[i]) : NULL;
        if (!symbol)
            free_place = i;
        else if (!strcmp(symbol->name, name)) // a call, and so a safepoint: what was read from the weak reference is in a root
            return symbol;
    }
    symbol = TALLY_NEW(Symbol);
    strcpy(symbol->name, name);
    void *weak = tally_weak_new(symbol);
    TALLY_WRITE_AT(names, &names->weak[free_place], weak);
    return symbol;
}

static int symbols(Names *names) {
    int alive = 0;
    for (uint64_t i = 0; i < names->length; i++) alive += names->weak[i] && tally_weak_get(names->weak[i]);
    return alive;
}

static void interning(void) {
    Names *names = TALLY_NEW_ARRAY(Names, 8);
    Symbol *kept = NULL;
    TALLY_ROOT(names, kept);
    kept = intern(names, "kept");
    intern(names, "dropped");
    printf("same symbol: %d\n", intern(names, "kept") == kept);
    tally_collect();
    printf("symbols left: %d, among them `%s`\n", symbols(names), kept->name); // a root matters up to its last use
}

static Box *new_box(long number) {
    Box *box = TALLY_NEW(Box);
    box->number = number;
    return box;
}

/* The value leads back to the key: counting alone would keep both as long as the note. */
static void notes(void) {
    Box *key = new_box(1);
    Note *note = NULL;
    TALLY_ROOT(key, note);
    note = TALLY_NEW(Note);
    Box *value = new_box(2);
    TALLY_WRITE(value, first, key);
    TALLY_WRITE(note, value, value);
    tally_ephemeron_key_write(note, &note->key, key);
    tally_collect();
    printf("key %ld has value %ld\n", key->number, note->value->number);
    key = NULL;
    tally_collect();
    printf("key %s, value %s\n", note->key ? "there" : "gone", note->value ? "there" : "gone");
}

static long forgotten;

static void tell(void *weak) {
    (void)weak;
    forgotten++;
}

static void cache(void) {
    Box *keys = NULL;
    void *map = tally_weak_map_new(TALLY_WEAK_KEYS);
    void *watch = NULL;
    TALLY_ROOT(keys, map, watch);
    for (long i = 0; i < 1000; i++) {
        Box *key = new_box(i);
        TALLY_ROOT(key);
        Box *value = new_box(i * i);
        tally_weak_map_set(map, key, value);
        if (i % 10 == 0) {
            Box *link = new_box(-1);
            TALLY_WRITE(link, first, key);
            TALLY_WRITE(link, second, keys);
            keys = link;
        }
        if (i == 999) watch = tally_weak_new_with(key, tell);
        key = NULL;
    }
    tally_collect();
    tally_safepoint();
    long sum = 0;
    for (Box *link = keys; link; link = link->second) sum += ((Box *)tally_weak_map_get(map, link->first))->number;
    printf("entries: %lu, sum of their values: %ld\n", (unsigned long)tally_weak_map_count(map), sum);
    long listed = 0;
    for (uint64_t at = 0; (at = tally_weak_map_next(map, at));) listed += ((Box *)tally_weak_map_key_at(map, at))->number;
    printf("sum of the keys: %ld, the last told: %ld, watch is empty: %d\n", listed, forgotten, !tally_weak_get(watch));
    for (; keys; keys = keys->second) sum -= keys->first->number * keys->first->number;
    printf("keys and values agree: %d\n", sum == 0);
}

int main(void) {
    interning();
    notes();
    cache();
}
