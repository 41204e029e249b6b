/* A cache that forgets what was used least recently: a hash table for finding, a doubly linked ring for the order of use.
 *
 * Every entry is in cycles with its neighbours for as long as it is in the cache, and in none once it is unlinked: plain counting
 * frees an evicted entry, while the cache itself, dropped at the end with its ring still closed, needs the cycle collector.
 *
 *     tally run examples/lru_cache.c
 */
#include <stdio.h>
#include <tally_gc.h>

enum { CAPACITY = 4096, BUCKETS = 8192, OPERATIONS = 2000000 };

typedef struct Entry {
    struct Entry *newer, *older; /* the ring; the cache's `ring` entry is between the oldest and the newest */
    struct Entry *chain;         /* the next entry of the same bucket */
    uint64_t key, value;
} Entry;
TALLY_TYPE(Entry, newer, older, chain);

typedef struct Buckets {
    uint64_t length;
    Entry *at[];
} Buckets;
TALLY_ARRAY_TYPE(Buckets, length, at);

typedef struct Cache {
    Buckets *buckets;
    Entry *ring;
    uint64_t entries, hits, misses;
} Cache;
TALLY_TYPE(Cache, buckets, ring);

static Cache *new_cache(void) {
    Cache *cache = TALLY_NEW(Cache);
    TALLY_ROOT(cache);
    cache->entries = cache->hits = cache->misses = 0;
    TALLY_WRITE(cache, buckets, TALLY_NEW_ARRAY(Buckets, BUCKETS));
    Entry *ring = TALLY_NEW(Entry);
    TALLY_WRITE(ring, newer, ring);
    TALLY_WRITE(ring, older, ring);
    TALLY_WRITE(cache, ring, ring);
    return cache;
}

static void unlink_entry(Entry *entry) {
    TALLY_WRITE(entry->newer, older, entry->older);
    TALLY_WRITE(entry->older, newer, entry->newer);
}

static void link_as_newest(Entry *ring, Entry *entry) {
    TALLY_WRITE(entry, older, ring->older);
    TALLY_WRITE(entry, newer, ring);
    TALLY_WRITE(ring->older, newer, entry);
    TALLY_WRITE(ring, older, entry);
}

/* Takes the oldest entry out of ring and bucket; from then on nothing refers to it. */
static void evict(Cache *cache) {
    TALLY_ROOT(cache);
    Entry *oldest = cache->ring->newer;
    Buckets *buckets = cache->buckets;
    uint64_t bucket = oldest->key % BUCKETS;
    if (buckets->at[bucket] == oldest) {
        TALLY_WRITE(buckets, at[bucket], oldest->chain);
    } else {
        Entry *before = buckets->at[bucket];
        while (before->chain != oldest) before = before->chain;
        TALLY_WRITE(before, chain, oldest->chain);
    }
    unlink_entry(oldest);
    cache->entries--;
}

/* The value of `key`: from the cache, or computed and remembered. */
static uint64_t look_up(Cache *cache, uint64_t key) {
    Entry *entry = cache->buckets->at[key % BUCKETS];
    TALLY_ROOT(cache, entry);
    while (entry && entry->key != key) entry = entry->chain;
    if (entry) {
        cache->hits++;
        unlink_entry(entry);
    } else {
        cache->misses++;
        if (cache->entries == CAPACITY) evict(cache);
        entry = TALLY_NEW(Entry);
        entry->key = key;
        entry->value = key * key;
        TALLY_WRITE(entry, chain, cache->buckets->at[key % BUCKETS]);
        TALLY_WRITE(cache->buckets, at[key % BUCKETS], entry);
        cache->entries++;
    }
    link_as_newest(cache->ring, entry);
    return entry->value;
}

int main(void) {
    Cache *cache = new_cache();
    TALLY_ROOT(cache);
    uint32_t random = 2463534242u;
    uint64_t sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        random = random * 1664525u + 1013904223u;
        uint64_t key = (random >> 14) & (random >> 18); /* small keys are asked for more often */
        sum += look_up(cache, key);
    }

    uint64_t in_ring = 0;
    for (Entry *e = cache->ring->newer; e != cache->ring; e = e->newer) in_ring++;
    printf("%lu hits, %lu misses, %lu entries, %lu in the ring, sum %lu\n", cache->hits, cache->misses, cache->entries, in_ring, sum);
}
