/* lru: a cache with a hash table and a doubly linked ring in the order of use; small keys are asked for most. */
#include <tally_gc.h>
#include "workload.h"

typedef struct Entry {
    struct Entry *previous, *next, *chain;
    long key, value;
} Entry;
TALLY_TYPE(Entry, previous, next, chain);

typedef struct Buckets {
    uint64_t length;
    Entry *at[];
} Buckets;
TALLY_ARRAY_TYPE(Buckets, length, at);

long lru(void) {
    int capacity = 1 << sizes.cache_bits;
    Buckets *buckets = TALLY_NEW_ARRAY(Buckets, capacity);
    TALLY_ROOT(buckets);
    Entry *ring = TALLY_NEW(Entry); /* most recently used first */
    TALLY_ROOT(ring);
    ring->key = -1;
    ring->value = 0;
    TALLY_WRITE(ring, previous, ring);
    TALLY_WRITE(ring, next, ring);

    int entries = 0;
    long sum = 0;
    first_tick();
    for (int access = 0; access < 1 << sizes.access_bits; access++) {
        long key = random_index(sizes.cache_bits + 2);
        key &= random_index(sizes.cache_bits + 2);
        long bucket = key & (capacity - 1);
        Entry *entry = buckets->at[bucket];
        while (entry && entry->key != key) entry = entry->chain;
        if (entry) {
            sum += entry->value;
            TALLY_WRITE(entry->previous, next, entry->next);
            TALLY_WRITE(entry->next, previous, entry->previous);
        } else {
            if (entries == capacity) {
                Entry *oldest = ring->previous;
                TALLY_WRITE(oldest->previous, next, ring);
                TALLY_WRITE(ring, previous, oldest->previous);
                long home = oldest->key & (capacity - 1);
                Entry *before = buckets->at[home];
                if (before == oldest) {
                    TALLY_WRITE(buckets, at[home], oldest->chain);
                } else {
                    while (before->chain != oldest) before = before->chain;
                    TALLY_WRITE(before, chain, oldest->chain);
                }
                entries--;
            }
            entry = TALLY_NEW(Entry);
            entry->key = key;
            entry->value = key & 15;
            TALLY_WRITE(entry, chain, buckets->at[bucket]);
            TALLY_WRITE(buckets, at[bucket], entry);
            entries++;
        }
        TALLY_WRITE(entry, next, ring->next);
        TALLY_WRITE(entry, previous, ring);
        TALLY_WRITE(ring->next, previous, entry);
        TALLY_WRITE(ring, next, entry);
        if (!(access & 63)) tick();
    }
    return sum + entries;
}
