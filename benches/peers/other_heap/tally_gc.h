/* The macros of tally_gc.h over another heap, so that the workloads of benches/workloads run on it unchanged.
 *
 * With -DBOEHM the heap is the collector of Boehm and Demers, which needs no roots and no barrier. Without it nothing is ever freed: a
 * pointer goes up through 64 MiB at a time, which is what allocation alone costs, and the memory that all objects together need.
 */
#ifndef TALLY_GC_H
#define TALLY_GC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef BOEHM
#include <gc.h>

__attribute__((constructor)) static void start_heap(void) { GC_INIT(); }
static inline void *allocate(size_t size) { return GC_MALLOC(size); }
static inline void *allocate_data(size_t size) { return GC_MALLOC_ATOMIC(size); }
#else
#include <sys/mman.h>

static char *next_byte, *last_byte;

static __attribute__((noinline)) void *allocate_in_next_piece(size_t size) {
    size_t piece = size > (64 << 20) ? size : 64 << 20;
    char *memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("never-freed: no more memory");
        exit(4);
    }
    next_byte = memory + size;
    last_byte = memory + piece;
    return memory;
}

static inline void *allocate(size_t size) {
    size = (size + 7) & ~(size_t)7;
    if (__builtin_expect(size > (size_t)(last_byte - next_byte), 0)) return allocate_in_next_piece(size);
    void *object = next_byte;
    next_byte += size;
    return object;
}

static inline void *allocate_data(size_t size) { return allocate(size); }
#endif

#define TALLY_TYPE(Type, ...)
#define TALLY_ARRAY_TYPE(Type, length_, elements, ...) TALLY__ARRAY(Type, length_, elements, allocate)
#define TALLY_DATA_ARRAY_TYPE(Type, length_, elements, ...) TALLY__ARRAY(Type, length_, elements, allocate_data)
#define TALLY__ARRAY(Type, length_, elements, allocate_)                                                               \
    __attribute__((unused)) static Type *new_array_of_##Type(uint64_t count) {                                         \
        Type *array = allocate_(sizeof(Type) + count * sizeof(array->elements[0]));                                    \
        array->length_ = count;                                                                                        \
        return array;                                                                                                  \
    }

#define TALLY_NEW(Type) ((Type *)allocate(sizeof(Type)))
#define TALLY_NEW_ARRAY(Type, count) new_array_of_##Type(count)
#define TALLY_ROOT(...)
#define TALLY_WRITE(object, field, value) ((void)((object)->field = (value)))

#endif
