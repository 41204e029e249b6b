/* Says at every allocation and collection which objects the roots on the stack hold, by number in order of allocation.
 *
 * Linked twice with the same program (`second_opinion.rs`), whose calls of tally_new go to witness_new:
 *   Tally's build: roots are what Tally's walk finds by its stack maps; objects are the real heap's.
 *   -DSHADOW: roots are those of LLVM's shadow stack; objects are calloc's, and none is ever freed. Such a program also tells of
 *   every plain load and store of a root (witness_read, witness_wrote), so that is known which roots were needed later.
 * Lines of the file that WITNESS_FILE names:
 *   l 3 5 5          a look, in order: the numbers of the objects that roots hold, in no order
 *   n 5 12 20        (-DSHADOW) a slot that held object 5 all through the looks 12 to 20 was read after that
 * A word that is in the heap and no object's is number 0. After WITNESS_LOOKS looks the program ends, as if it had called exit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tally.h"

enum { TABLE = 1 << 21 };
typedef struct Known { uint64_t key, value; } Known;

/* Open addressing; keys are never taken out, and their number is bounded by how much a program may do. */
static Known *at(Known *table, uint64_t key) {
    uint64_t place = (key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 43;
    for (uint64_t tried = 0; table[place].key && table[place].key != key; place = (place + 1) % TABLE)
        if (++tried == TABLE) fputs("witness: too many objects\n", stderr), abort();
    return &table[place];
}

static Known objects[TABLE];
static uint64_t born, looks, looks_max;
static FILE *out;

static void begin(void) {
    const char *file = getenv("WITNESS_FILE"), *most = getenv("WITNESS_LOOKS");
    out = fopen(file ? file : "/dev/null", "w");
    looks_max = most ? strtoull(most, NULL, 10) : 10000;
    if (!out) perror("witness: WITNESS_FILE"), abort();
}

/* Calls found with each reference that a root holds. */
static void read_root(uint64_t *slot, const tally_type *how, void (*found)(uint64_t object, uint64_t since), uint64_t since) {
    if (!how) {
        if (*slot) found(*slot, since);
        return;
    }
    for (uint32_t i = 0; i < how->ref_count; i++) {
        uint32_t entry = how->ref_offsets[i], at = entry / 8;
        uint64_t word = slot[at], tag = word;
        if (how->slot_kind == TALLY_SLOT_TRACE) abort();
        if (how->slot_kind == TALLY_SLOT_TAG_BEFORE) tag = slot[at - 1];
        if (how->slot_kind == TALLY_SLOT_TAG_BEHIND) tag = slot[at + 1];
        if (how->slot_kind != TALLY_SLOT_POINTER && !(entry & TALLY_PLAIN_REF))
            word = (tag & how->tag_mask) == how->tag_pattern ? word & how->pointer_mask : 0;
        if (word) found(word, since);
    }
}

static void *number(void *object) {
    Known *known = at(objects, (uint64_t)object);
    known->key = (uint64_t)object;
    known->value = ++born;
    return object;
}

static int is_ours(uint64_t word);

static void say(uint64_t word, uint64_t unused) {
    uint64_t known = at(objects, word)->value;
    if (known || is_ours(word)) fprintf(out, " %lu", known);
}

static void say_root(void **slot, void *how) { read_root((uint64_t *)slot, how, say, 0); }

static __attribute__((noinline)) void look(void) {
    if (!out) begin();
    if (looks++ == looks_max) exit(0);
    fputs("l", out);
    llvm_cg_walk_gcroots(say_root);
    fputs("\n", out);
}

#ifdef SHADOW

typedef struct Map { int32_t roots, metas; const void *meta[]; } Map;
tally_shadow_entry *llvm_gc_root_chain;

void llvm_cg_walk_gcroots(void (*visit)(void **, void *)) {
    for (tally_shadow_entry *entry = llvm_gc_root_chain; entry; entry = entry->next) {
        uint64_t *slot = (uint64_t *)(entry + 1);
        const Map *map = entry->map;
        for (int32_t i = 0; i < map->roots; i++) {
            const tally_type *how = i < map->metas ? map->meta[i] : NULL;
            visit((void **)slot, (void *)how);
            slot += how && how->size > 8 ? (how->size + 7) / 8 : 1;
        }
    }
}

static int is_ours(uint64_t word) { return 0; }

static void *made(size_t size, uint32_t align) {
    size_t to = align < 16 ? 16 : align;
    size = (size + to - 1) / to * to;
    return memset(aligned_alloc(to, size ? size : to), 0, size ? size : to);
}
static void *made_array(const tally_type *type, uint64_t n) {
    char *new = made(type->size + n * type->stride, type->align);
    memcpy(new + type->length_offset, &n, sizeof n);
    return new;
}
#define MADE(type) made((type)->size, (type)->align)
#define COLLECT()
#define POLL()

void tally_gcwrite_i64(uint64_t word, void *object, void *slot) { memcpy(slot, &word, sizeof word); }
void tally_object_open(void *object) { (void)object; }
void tally_object_close(void *object) { (void)object; }
void tally_write_open(void *value, void *object, void *slot) { memcpy(slot, &value, sizeof value); }
void tally_write_open_i64(uint64_t word, void *object, void *slot) { memcpy(slot, &word, sizeof word); }
void tally_copy_refs(void *object, void *to, const void *from, uint64_t n) { memmove(to, from, n * 8); }
void tally_fill_refs(void *object, void *to, uint64_t word, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) memcpy((uint64_t *)to + i, &word, sizeof word);
}

/* Of each slot: up to which look is known what it holds, plus one. */
static Known covered[TABLE];

void witness_wrote(uint64_t *slot) {
    Known *since = at(covered, (uint64_t)slot);
    since->key = (uint64_t)slot;
    since->value = looks + 1;
}
static void say_needed(uint64_t word, uint64_t since) {
    uint64_t known = at(objects, word)->value;
    if (known) fprintf(out, "n %lu %lu %lu\n", known, since, looks);
}
void witness_read(uint64_t *slot, const tally_type *how) {
    if (!out) return;
    Known *since = at(covered, (uint64_t)slot);
    if (since->key && since->value <= looks) {
        read_root(slot, how, say_needed, since->value);
        since->value = looks + 1;
    }
}

#else

static int is_ours(uint64_t word) { return tally_is_in_heap((void *)word); }
#define MADE(type) tally_new(type)
#define made_array(type, n) tally_new_array(type, n)
#define COLLECT() tally_collect()
#define POLL() tally_safepoint()

#endif

void *witness_new(const tally_type *type) {
    look();
    return number(MADE(type));
}
void *witness_new_array(const tally_type *type, uint64_t n) {
    look();
    return number(made_array(type, n));
}
void witness_safepoint(void) {
    look();
    POLL();
}
void witness_collect(void) {
    look();
    COLLECT();
}
