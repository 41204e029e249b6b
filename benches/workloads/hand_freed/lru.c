/* lru: a cache with a hash table and a doubly linked ring in the order of use; small keys are asked for most. */
#include <stdlib.h>
#include "../workload.h"

typedef struct Entry {
    struct Entry *previous, *next, *chain;
    long key, value;
} Entry;

long lru(void) {
    int capacity = 1 << sizes.cache_bits;
    Entry **buckets = calloc(capacity, sizeof(Entry *));
    Entry *ring = malloc(sizeof(Entry)); /* most recently used first */
    *ring = (Entry){.previous = ring, .next = ring, .key = -1};

    int entries = 0;
    long sum = 0;
    first_tick();
    for (int access = 0; access < 1 << sizes.access_bits; access++) {
        long key = random_index(sizes.cache_bits + 2);
        key &= random_index(sizes.cache_bits + 2);
        Entry **bucket = &buckets[key & (capacity - 1)], *entry = *bucket;
        while (entry && entry->key != key) entry = entry->chain;
        if (entry) {
            sum += entry->value;
            entry->previous->next = entry->next;
            entry->next->previous = entry->previous;
        } else {
            if (entries == capacity) {
                Entry *oldest = ring->previous;
                oldest->previous->next = ring;
                ring->previous = oldest->previous;
                Entry **place = &buckets[oldest->key & (capacity - 1)];
                while (*place != oldest) place = &(*place)->chain;
                *place = oldest->chain;
                free(oldest);
                entries--;
            }
            entry = malloc(sizeof(Entry));
            entry->key = key;
            entry->value = key & 15;
            entry->chain = *bucket;
            *bucket = entry;
            entries++;
        }
        entry->next = ring->next;
        entry->previous = ring;
        ring->next->previous = entry;
        ring->next = entry;
        if (!(access & 63)) tick();
    }
    return sum + entries;
}
