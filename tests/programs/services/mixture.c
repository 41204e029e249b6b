/* All services at once, in random order: handles, weak references with callbacks, weak slots, a weak map of each mode, finalizers that do
 * any of it, host objects, external bytes, objects that never die, freezing, stopping and stepping, leak reports. Every object that a
 * service answers is what it was made as, and every host object is freed once. */
#include <stdio.h>
#include <stdlib.h>
#include <tally.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *left, *right;
    long mark;
    void *weak; /* a weak slot */
} Node;
TALLY_TYPE(Node, left, right);

typedef struct Mortal {
    struct Node *left, *right;
    long mark;
    void *weak;
} Mortal;
static void died(Mortal *mortal);
TALLY_FINALIZED_TYPE(Mortal, died, left, right);

enum { SLOTS = 64, STEPS = 1500, SEEDS = 6, MARK = 77 };

static tally_global *held[SLOTS], *watched, *map;
static int hosts_made, hosts_freed, done;
static unsigned long chance;

static unsigned below(unsigned limit) {
    chance = chance * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(chance >> 33) % limit;
}

static void *checked(void *object, const char *what) {
    if (object && ((Node *)object)->mark != MARK) printf("%s: no object of ours\n", what);
    return object;
}

static void act(int depth);

static void gone(void *weak) {
    if (tally_weak_get(weak)) printf("its target is still there\n");
    if (!done) act(1);
}

static void died(Mortal *mortal) {
    checked(mortal, "finalizer");
    if (done) return;
    if (below(4) == 0) tally_global_set(held[below(SLOTS)], mortal);
    if (below(8) == 0) tally_finalize_register(mortal);
    for (unsigned deeds = below(4); deeds > 0; deeds--) act(1);
}

static void freed(void *pointer) {
    hosts_freed++;
    free(pointer);
}

static void listed(const char *type, uint64_t objects, uint64_t bytes, void *context) {
    (void)type, (void)context;
    if (!objects || !bytes) printf("a leak of nothing\n");
}

static void control(Node *a) {
    switch (below(40)) {
    case 0: tally_collect(); break;
    case 1: tally_stop(); break;
    case 2: case 3: case 4: tally_restart(); break;
    case 5: tally_step(1000); break;
    case 6: if (a) tally_make_immortal(a); break;
    case 7: tally_unfreeze(); break;
    case 8: if (below(10) == 0) tally_freeze(); break;
    case 9: tally_leak_report(listed, NULL); break;
    }
}

/* One deed of any kind. */
static void act(int depth) {
    void *scope = tally_handles_open();
    tally_handle *one = tally_handle_new(held[below(SLOTS)]->object), *other = tally_handle_new(held[below(SLOTS)]->object);
    Node *a = one->object, *b = other->object;
    TALLY_ROOT(a, b);
    tally_global *place = held[below(SLOTS)];
    switch (below(18)) {
    case 0: case 1: case 2: {
        void *made = below(3) ? (void *)TALLY_NEW(Node) : (void *)TALLY_NEW(Mortal);
        ((Node *)made)->mark = MARK;
        ((Node *)made)->weak = NULL;
        tally_global_set(place, made);
        break;
    }
    case 3: case 4: if (a) TALLY_WRITE(a, left, b); break;
    case 5: if (a) TALLY_WRITE(a, right, b); break;
    case 6: case 7: tally_global_set(place, NULL); break;
    case 8: if (a) tally_weak_write(a, &a->weak, b); break;
    case 9: if (a) tally_global_set(place, checked(tally_weak_get(&a->weak), "weak slot")); break;
    case 10: if (a && b) tally_weak_map_set(map->object, a, b); break;
    case 11: if (a) tally_global_set(place, checked(tally_weak_map_get(map->object, a), "map")); break;
    case 12: if (a) tally_external_bytes(a, (long)below(100000) - 30000); break;
    case 13: if (a) tally_global_set(watched, tally_weak_new_with(a, gone)); break;
    case 14:
        hosts_made++;
        tally_host_new(malloc(8), freed);
        break;
    case 15: control(a); break;
    case 16:
        if (a && below(2)) tally_finalize_register(a);
        else if (a) tally_finalize_forget(a);
        break;
    case 17: {
        uint64_t at = 0;
        for (int left = 50; left-- && (at = tally_weak_map_next(map->object, at));)
            checked(tally_weak_map_key_at(map->object, at), "key");
        break;
    }
    }
    tally_handles_close(scope);
    if (depth == 0) tally_safepoint();
}

static void mix(unsigned long seed) {
    chance = seed;
    done = 0;
    for (int i = 0; i < SLOTS; i++) held[i] = tally_global_new(NULL);
    watched = tally_global_new(NULL);
    map = tally_global_new(tally_weak_map_new((int)(seed % 3 + 1)));
    tally_set_pause_goal(seed & 4 ? 20000 : 0);
    for (int i = 0; i < STEPS; i++) act(0);
    done = 1;
    tally_restart();
    tally_unfreeze();
    for (int i = 0; i < SLOTS; i++) tally_global_free(held[i]);
    tally_global_free(watched);
    tally_global_free(map);
    for (int i = 0; i < 3; i++) tally_collect();
}

int main(void) {
    tally_set_epoch_bytes(64 << 10);
    for (unsigned long seed = 1; seed <= SEEDS; seed++) mix(seed);
    printf("%s\n", hosts_made > 100 && hosts_freed == hosts_made ? "all of it" : "host objects are missing");
    return 0;
}
