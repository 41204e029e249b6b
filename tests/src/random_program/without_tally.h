/* tally_gc.h for the reference run: the same macros, over calloc and plain stores; nothing is ever freed. */
#ifndef TALLY_GC_H
#define TALLY_GC_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define WITHOUT_TALLY 1
#define TALLY__NOTHING _Static_assert(1, "")
#define TALLY_TYPE(Type, ...) TALLY__NOTHING
#define TALLY_SHARED_TYPE(Type, ...) TALLY__NOTHING
#define TALLY_EXTERN_TYPE(Type) TALLY__NOTHING
#define TALLY_ACYCLIC_TYPE(Type, ...) TALLY__NOTHING
#define TALLY_TAGGED_TYPE(...) TALLY__NOTHING
#define TALLY_TYPE_TAGGED(Type, ...) TALLY__NOTHING
#define TALLY__ARRAY(Type, length, elements) \
    enum { tally__length_##Type = offsetof(Type, length), tally__stride_##Type = sizeof(((Type *)0)->elements[0]) }
#define TALLY_ARRAY_TYPE(Type, length, elements, ...) TALLY__ARRAY(Type, length, elements)
#define TALLY_STRUCT_ARRAY_TYPE(Type, length, elements, ...) TALLY__ARRAY(Type, length, elements)
#define TALLY_DATA_ARRAY_TYPE(Type, length, elements, ...) TALLY__ARRAY(Type, length, elements)
#define TALLY_ARRAY_TYPE_TAGGED(Type, Word, length, elements, ...) TALLY__ARRAY(Type, length, elements)
static inline void *tally__new(uint64_t size, uint64_t align) {
    if (align < 16) align = 16;
    size = (size + align - 1) / align * align;
    return memset(aligned_alloc(align, size), 0, size);
}
static inline void *tally__new_array(uint64_t size, uint64_t length, uint64_t stride, uint64_t n) {
    void *new = tally__new(size + n * stride, 16);
    memcpy((char *)new + length, &n, sizeof n);
    return new;
}
static inline void tally_fill_refs(void *object, void *to, uint64_t word, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) memcpy((uint64_t *)to + i, &word, sizeof word);
}
#define TALLY_NEW(Type) ((Type *)tally__new(sizeof(Type), _Alignof(Type)))
#define TALLY_NEW_ARRAY(Type, n) ((Type *)tally__new_array(sizeof(Type), tally__length_##Type, tally__stride_##Type, (n)))
#define TALLY_ROOT(...) do { } while (0)
#define TALLY_ROOT_TAGGED(...) do { } while (0)
#define TALLY_ROOT_AS(...) do { } while (0)
#define TALLY_WRITE(object, field, value) \
    do { __typeof__((object)->field) tally__value = (value); (object)->field = tally__value; } while (0)
#define TALLY_WRITE_TAGGED TALLY_WRITE
#define TALLY_WRITE_AT(object, slot, value) do { __typeof__(*(slot)) tally__value = (value); *(slot) = tally__value; } while (0)
#define TALLY_READ(object, field) ((object)->field)
#define TALLY_READ_AT(object, slot) (*(slot))
#define TALLY_COPY(object, slot, from, n) memmove((slot), (from), (n) * 8)
#define TALLY_WRITE_GLOBAL(global, value) ((global) = (value))
#define tally_safepoint() ((void)0)
#define tally_collect() ((void)0)
#endif
