/* One source, three heaps. A program of this folder is C on Tally, written with the macros of tally_gc.h:
 *
 *     (nothing defined)   Tally's heap: BY_HAND and FREE are empty
 *     -DFREED_BY_HAND     malloc; FREE frees, and BY_HAND(statements) are compiled: the frees of a C programmer
 *     -DON_BOEHM          the collector of Boehm and Demers: BY_HAND and FREE are empty
 *
 * On the two other heaps the macros mean the same, without roots and barriers: a new object's references are null, and
 * its other fields are not set. With malloc the references that a type lists are set one by one, so that the compiler
 * drops each store that the program's own follows.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef FREED_BY_HAND
#define BY_HAND(...) __VA_ARGS__
#define FREE(object) free(object)
#else
#define BY_HAND(...)
#define FREE(object) ((void)0)
#endif

#if !defined(FREED_BY_HAND) && !defined(ON_BOEHM)
#include <tally_gc.h>
#else

#ifdef ON_BOEHM
#include <gc.h>
__attribute__((constructor)) static void heap__start(void) { GC_INIT(); }
/* The collector clears what may hold references. */
#define HEAP__ALLOCATE(size, holds_references) ((holds_references) ? GC_MALLOC(size) : GC_MALLOC_ATOMIC(size))
#define HEAP__ALLOCATE_NULLS(size, holds_references) HEAP__ALLOCATE(size, holds_references)
#define HEAP__NULL(object, field)
#else
#define HEAP__ALLOCATE(size, holds_references) malloc(size)
#define HEAP__ALLOCATE_NULLS(size, holds_references) ((holds_references) ? calloc(1, size) : malloc(size))
#define HEAP__NULL(object, field) (object)->field = 0;
#endif

#define TALLY_TYPE(Type, ...)                                                                                          \
    static inline __attribute__((unused)) Type *heap__new_##Type(void) {                                               \
        Type *object = HEAP__ALLOCATE(sizeof(Type), 0 __VA_OPT__(|| 1));                                               \
        HEAP__EACH(HEAP__NULL, object, __VA_ARGS__)                                                                    \
        return object;                                                                                                 \
    }                                                                                                                  \
    struct heap__semicolon
#define TALLY_ACYCLIC_TYPE TALLY_TYPE
#define TALLY_ARRAY_TYPE(Type, length, elements, ...) HEAP__ARRAY(Type, length, elements, 1)
#define TALLY_STRUCT_ARRAY_TYPE(Type, length, elements, element_fields, ...) HEAP__ARRAY(Type, length, elements, 1)
#define TALLY_DATA_ARRAY_TYPE(Type, length, elements, ...) HEAP__ARRAY(Type, length, elements, 0 __VA_OPT__(|| 1))
#define HEAP__ARRAY(Type, length_, elements, holds_references)                                                         \
    static inline __attribute__((unused)) Type *heap__new_array_##Type(uint64_t count) {                               \
        Type *array = HEAP__ALLOCATE_NULLS(sizeof(Type) + count * sizeof(array->elements[0]), holds_references);       \
        array->length_ = count;                                                                                        \
        return array;                                                                                                  \
    }                                                                                                                  \
    struct heap__semicolon
#define TALLY_TAGGED_TYPE(Word, tag_mask, tag_pattern, pointer_mask) struct heap__semicolon
#define TALLY_TYPE_TAGGED(Type, Word, ...) TALLY_TYPE(Type, __VA_ARGS__)
#define TALLY_ARRAY_TYPE_TAGGED(Type, Word, length, elements, ...) HEAP__ARRAY(Type, length, elements, 1)

#define TALLY_NEW(Type) heap__new_##Type()
#define TALLY_NEW_ARRAY(Type, count) heap__new_array_##Type(count)
#define TALLY_ROOT(...) ((void)0)
#define TALLY_ROOT_TAGGED(Word, ...) ((void)0)
#define TALLY_WRITE(object, field, value) ((void)((object)->field = (value)))
#define TALLY_WRITE_AT(object, slot, value) ((void)(*(slot) = (value)))
#define TALLY_WRITE_TAGGED(object, field, word) ((void)((object)->field = (word)))
#define TALLY_WRITE_GLOBAL(global, value) ((void)((global) = (value)))
#define TALLY_COPY(object, slot, from, count) ((void)memmove((slot), (from), (count) * sizeof *(slot)))

/* HEAP__EACH(m, t, a, b, …) is m(t, a) m(t, b) …, up to 16 of them. */
#define HEAP__EACH(m, t, ...) __VA_OPT__(HEAP__AGAIN(HEAP__AGAIN(HEAP__EACH_(m, t, __VA_ARGS__))))
#define HEAP__EACH_(m, t, a, ...) m(t, a) __VA_OPT__(HEAP__EACH_NEXT HEAP__NONE()()(m, t, __VA_ARGS__))
#define HEAP__EACH_NEXT() HEAP__EACH_
#define HEAP__NONE()
#define HEAP__AGAIN(...) HEAP__AGAIN1(HEAP__AGAIN1(HEAP__AGAIN1(HEAP__AGAIN1(__VA_ARGS__))))
#define HEAP__AGAIN1(...) __VA_ARGS__

#endif
#endif
