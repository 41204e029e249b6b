/* A list of references in an array that doubles when it is full. By hand, the vector owns its array and not what is
 * in it.
 */
#ifndef VECTOR_H
#define VECTOR_H

#include "heap.h"

typedef struct Items {
    uint64_t capacity;
    void *at[];
} Items;
TALLY_ARRAY_TYPE(Items, capacity, at);

typedef struct Vector {
    Items *items;
    long length;
} Vector;
TALLY_TYPE(Vector, items);

static inline Vector *new_vector(long capacity) {
    Vector *vector = TALLY_NEW(Vector);
    TALLY_ROOT(vector);
    vector->length = 0;
    TALLY_WRITE(vector, items, TALLY_NEW_ARRAY(Items, capacity));
    return vector;
}

static __attribute__((noinline)) void enlarge(Vector *vector) {
    TALLY_ROOT(vector);
    Items *items = TALLY_NEW_ARRAY(Items, 2 * vector->items->capacity);
    TALLY_ROOT(items);
    TALLY_COPY(items, items->at, vector->items->at, vector->length);
    FREE(vector->items);
    TALLY_WRITE(vector, items, items);
}

static inline void append(Vector *vector, void *item) {
    TALLY_ROOT(vector, item);
    if ((uint64_t)vector->length == vector->items->capacity) enlarge(vector);
    TALLY_WRITE(vector->items, at[vector->length], item);
    vector->length++;
}

static inline void *remove_last(Vector *vector) {
    void *item = vector->items->at[--vector->length];
    TALLY_ROOT(item);
    TALLY_WRITE(vector->items, at[vector->length], NULL);
    return item;
}

/* Takes out the first place that holds `item`; those behind it move up. */
static inline void remove_item(Vector *vector, void *item) {
    Items *items = vector->items;
    TALLY_ROOT(vector, items);
    for (long i = 0; i < vector->length; i++) {
        if (items->at[i] != item) continue;
        vector->length--;
        TALLY_COPY(items, &items->at[i], &items->at[i + 1], vector->length - i);
        TALLY_WRITE(items, at[vector->length], NULL);
        return;
    }
}

static inline void free_vector(Vector *vector) {
    (void)vector;
    BY_HAND(free(vector->items); free(vector);)
}

#endif
