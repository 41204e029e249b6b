/* tally_gc.h: garbage-collected C over Tally's intrinsics.
 *
 * Its macros turn C into the IR that any Tally frontend emits (llvm.gcroot, llvm.gcwrite, llvm.gcread, tally_new). Read it to see
 * what a frontend emits; include it to write programs and benches.
 * Needs clang 22 (C11 or later, GNU extensions). `tally run prog.c`, `tally build prog.c -o prog` and `tally cc -c prog.c` find it by
 * themselves; clang itself needs -fpass-plugin=libtally_pass.so.
 *
 *     #include <stdio.h>
 *     #include <tally_gc.h>
 *     typedef struct Node { struct Node *next; long value; } Node;
 *     TALLY_TYPE(Node, next);                          // the type and its reference fields, in the order of the struct
 *     static Node *push(Node *list, long value) {
 *         TALLY_ROOT(list);                            // needed after the allocation below
 *         Node *node = TALLY_NEW(Node);                // its reference fields are null, the other fields are not set
 *         node->value = value;                         // not a reference: an ordinary store
 *         TALLY_WRITE(node, next, list);               // a reference: through the write barrier
 *         return node;
 *     }
 *     int main(void) {
 *         Node *list = NULL;
 *         TALLY_ROOT(list);
 *         for (long i = 1; i <= 3; i++) list = push(list, i);
 *         for (Node *n = list; n; n = n->next) printf("%ld\n", n->value);
 *     }
 *
 * The rules (docs/port/ir-contract.md says the same about IR):
 *  1. Every call is a safepoint, where unreachable objects may be reclaimed. Reading, writing and arithmetic are not.
 *  2. A local or parameter whose object is used after a safepoint is declared a root: TALLY_ROOT(a, b). The declaration holds for the
 *     whole function and may stand in a nested block. Nothing moves: a root is an ordinary variable, read and assigned as such.
 *  3. `h(f(), g())` loses f's object while g runs. Put the first result in a root before making the second.
 *  4. A reference is stored into an object by TALLY_WRITE and its kin only, into a global by TALLY_WRITE_GLOBAL only; reading
 *     needs no macro. Objects are not copied by struct assignment or memcpy: TALLY_COPY copies references.
 *  5. A pointer into an object does not keep it alive; it is valid as long as a root holds the object.
 *  6. Under `--plan refcount-prompt` an object dies when its last reference goes, before the next statement that calls: locals in
 *     reverse order of declaration at a return, fields and elements in order, each object before the objects that it refers to. Without it
 *     an object dies at some later epoch, and its type's destructor runs at the end of that epoch.
 *  `tally run --zeal prog.c` finds a forgotten root or barrier; `tally verify prog.c` finds most of them without running.
 *
 * The macros
 *   types    TALLY_TYPE(Type, fields…) · TALLY_ACYCLIC_TYPE(Type, fields…) · TALLY_SHARED_TYPE / TALLY_EXTERN_TYPE
 *            TALLY_FINALIZED_TYPE(Type, finalize, fields…)                           a destructor
 *            TALLY_FINALIZED_TYPE_AS(Type, TALLY_FINALIZE_…, finalize, fields…)       in an order, on request
 *   arrays   TALLY_ARRAY_TYPE(Type, length, elements, fields…)                       elements are references
 *            TALLY_STRUCT_ARRAY_TYPE(Type, length, elements, (element fields…), fields…)
 *            TALLY_DATA_ARRAY_TYPE(Type, length, elements, fields…)                  elements hold no references
 *            TALLY_FINALIZED_ARRAY_TYPE(Type, finalize, length, elements, fields…)
 *   words    TALLY_TAGGED_TYPE(Word, tag_mask, tag_pattern, pointer_mask) · TALLY_TYPE_TAGGED(Type, Word, fields…)
 *            TALLY_ARRAY_TYPE_TAGGED(Type, Word, length, elements, fields…)
 *            TALLY_STRUCT_ARRAY_TYPE_TAGGED(Type, Word, length, elements, (element fields…), fields…)
 *   pairs    TALLY_PAIR_TYPE(Pair, tag, word, tag_mask, tag_pattern) · TALLY_TYPE_OF_PAIRS(Type, Pair, fields…)
 *            TALLY_ARRAY_TYPE_OF_PAIRS(Type, Pair, length, elements, fields…) · TALLY_WRITE_PAIR(object, field, pair)
 *            TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Type, Pair, length, elements, (element fields…), fields…)
 *            Fields of types with words or pairs may be pointers, too: plain references, for TALLY_WRITE.
 *   objects  TALLY_NEW(Type) · TALLY_NEW_ARRAY(Type, n) · TALLY_TRY_NEW(Type) · TALLY_TRY_NEW_ARRAY(Type, n)
 *   roots    TALLY_ROOT(variables…) · TALLY_ROOT_TAGGED(Word, variables…) · TALLY_ROOT_AS(Type, variables…)
 *   fields   TALLY_WRITE(object, field, value) · TALLY_WRITE_AT(object, slot, value) · TALLY_WRITE_TAGGED(object, field, word)
 *            TALLY_WRITE_OPEN(object, field, value) · TALLY_WRITE_OPEN_TAGGED(object, field, word)   of an object that is open
 *            TALLY_READ(object, field) · TALLY_READ_AT(object, slot) · TALLY_COPY(object, slot, from, n)
 *            TALLY_RESIZE(object, field, n) · tally_rehash(object, &object->field, n, rehash, context)
 *   globals  TALLY_WRITE_GLOBAL(global, value)
 *   weak     TALLY_EPHEMERON_TYPE(Type, fields…) · tally_weak_new(target) · tally_weak_get(weak) · tally_ephemeron_new(key, value) ·
 *            tally_weak_map_new(TALLY_WEAK_KEYS) and others of tally.h
 *   control  tally_safepoint() · tally_collect()
 */
#ifndef TALLY_GC_H
#define TALLY_GC_H

#include <stddef.h>
#include <stdint.h>
#include "tally.h"

#if !defined(__clang__)
#error "tally_gc.h needs clang: its functions become LLVM intrinsics"
#endif

/* The intrinsics: functions by these names in the IR that clang emits, which the lowering makes llvm.gcroot and its kin. In code that
 * was compiled without it they are undefined symbols, and so is what every file that includes this header refers to: the linker tells
 * what is missing. */
#define TALLY__UNLOWERED(what)                                                                                         \
    __asm__(what ", not lowered: compile with -fpass-plugin=libtally_pass.so, or by `tally build`")
__attribute__((nothrow)) void tally__gcroot(void *slot, const void *how) TALLY__UNLOWERED("gcroot");
__attribute__((nothrow)) void tally__gcwrite(void *value, void *object, void *slot) TALLY__UNLOWERED("gcwrite");
__attribute__((nothrow)) void *tally__gcread(void *object, void *slot) TALLY__UNLOWERED("gcread");
extern const char tally__header[] TALLY__UNLOWERED("tally_gc.h");
static const char *const tally__includes_header __attribute__((used)) = tally__header;

/* ---- Types ---------------------------------------------------------------------------------------------------------- */

/* A struct type and those of its fields that are references, in the order in which they stand in the struct. Fields of nested
 * structs and of small fixed arrays are named as C names them: TALLY_TYPE(Tree, parent, child[0], child[1], key.text). */
#define TALLY_TYPE(Type, ...)                                                                                          \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__DESCRIBE(static, Type, 0, TALLY__PLAIN, NULL, __VA_ARGS__)

/* A type whose objects can never be part of a cycle, whatever they refer to: the cycle detector does not look at them. */
#define TALLY_ACYCLIC_TYPE(Type, ...)                                                                                  \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__DESCRIBE(static, Type, TALLY_ACYCLIC, TALLY__PLAIN, NULL, __VA_ARGS__)

/* A type of ephemerons, whose fields are alive only as long as a key is: tally_ephemeron_key_write(object, &object->key, key), where `key` is
 * a field that is not listed here. */
#define TALLY_EPHEMERON_TYPE(Type, ...)                                                                                \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__DESCRIBE(static, Type, TALLY_EPHEMERON, TALLY__PLAIN, NULL, __VA_ARGS__)

/* A type with a destructor: `void finalize(Type *object)`, declared before this. It is called once, when the last reference to an
 * object has gone (of a cycle, and under the deferred plan: when the object is found dead), before the object's fields are released; so it finds them as they
 * were. It is C like any other: it may allocate, write into the object, and call what it likes. If it stores the object somewhere the
 * object lives on, and is not finalized again. examples/prompt_files.c */
#define TALLY_FINALIZED_TYPE(Type, finalize, ...)                                                                      \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__CHECK_FINALIZE(Type, finalize);                                                                             \
    TALLY__DESCRIBE(static, Type, 0, TALLY__PLAIN, TALLY__FINALIZER(finalize), __VA_ARGS__)

/* The same with flags: TALLY_FINALIZE_REVERSE or TALLY_FINALIZE_OWNER_FIRST, TALLY_FINALIZE_REGISTERED, TALLY_ACYCLIC. */
#define TALLY_FINALIZED_TYPE_AS(Type, flags_, finalize, ...)                                                           \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__CHECK_FINALIZE(Type, finalize);                                                                             \
    TALLY__DESCRIBE(static, Type, flags_, TALLY__PLAIN, TALLY__FINALIZER(finalize), __VA_ARGS__)

/* One descriptor for several modules: TALLY_SHARED_TYPE in one of them, TALLY_EXTERN_TYPE(Type) in the others, which then
 * allocate by a call instead of inline. (TALLY_TYPE in a shared header works too: each module then has a type of its own.) */
#define TALLY_SHARED_TYPE(Type, ...)                                                                                   \
    TALLY_EXTERN_TYPE(Type);                                                                                           \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__DESCRIBE(, Type, 0, TALLY__PLAIN, NULL, __VA_ARGS__)
#define TALLY_EXTERN_TYPE(Type) extern const tally_type tally_type_##Type

/* ---- Arrays ---------------------------------------------------------------------------------------------------------
 * An array type is a struct with a uint64_t that Tally sets to the number of elements, and a flexible array member at its end:
 *     typedef struct Nodes { uint64_t length; Node *at[]; } Nodes;      TALLY_ARRAY_TYPE(Nodes, length, at);
 * `fields…` are the references that stand before the elements. */
#define TALLY_ARRAY_TYPE(Type, length, elements, ...)                                                                  \
    TALLY__CHECK_POINTER(Type, elements[0]);                                                                           \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__ELEMENT_IS_WORD(Type)                                                                                       \
    TALLY__DESCRIBE_ARRAY(Type, TALLY__PLAIN, NULL, length, elements, __VA_ARGS__)

/* The same with a destructor. */
#define TALLY_FINALIZED_ARRAY_TYPE(Type, finalize, length, elements, ...)                                              \
    TALLY__CHECK_POINTER(Type, elements[0]);                                                                           \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__CHECK_FINALIZE(Type, finalize);                                                                             \
    TALLY__ELEMENT_IS_WORD(Type)                                                                                       \
    TALLY__DESCRIBE_ARRAY(Type, TALLY__PLAIN, TALLY__FINALIZER(finalize), length, elements, __VA_ARGS__)

/* Elements are structs: TALLY_STRUCT_ARRAY_TYPE(Table, length, entries, (key, value)). */
#define TALLY_STRUCT_ARRAY_TYPE(Type, length, elements, element_fields, ...)                                           \
    typedef __typeof__(((Type *)0)->elements[0]) tally__element_##Type;                                                \
    TALLY__POINTER_FIELDS(tally__element_##Type, TALLY__BARE element_fields)                                           \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__UNUSED static const uint32_t tally__elements_##Type[] = {                                                   \
        TALLY__EACH(TALLY__OFFSET, tally__element_##Type, TALLY__BARE element_fields) 0};                              \
    TALLY__DESCRIBE_ARRAY(Type, TALLY__PLAIN, NULL, length, elements, __VA_ARGS__)

/* Elements are bytes, numbers, or structs of such. */
#define TALLY_DATA_ARRAY_TYPE(Type, length, elements, ...)                                                             \
    TALLY__POINTER_FIELDS(Type, __VA_ARGS__)                                                                           \
    TALLY__UNUSED static const uint32_t tally__elements_##Type[] = {0};                                                \
    TALLY__DESCRIBE_ARRAY(Type, TALLY__PLAIN, NULL, length, elements, __VA_ARGS__)

/* ---- Tagged words ---------------------------------------------------------------------------------------------------
 * Word is a typedef of uint64_t. A word w is a reference if (w & tag_mask) == tag_pattern and (w & pointer_mask) != 0, and the
 * object is then w & pointer_mask. Low-bit tags: (7, 0, ~7). NaN boxes: (0xffff000000000000, the pattern, 0xffffffffffff).
 * In a tagged type each listed field is such a word, or a pointer: a plain reference, which TALLY_WRITE writes. */
#define TALLY_TAGGED_TYPE(Word, tag_mask_, tag_pattern_, pointer_mask_)                                                \
    TALLY__ASSERT(TALLY__SAME(Word, uint64_t), #Word " must be uint64_t");                                             \
    enum { tally__mask_##Word = (uint64_t)(tag_mask_) };                                                               \
    enum { tally__pattern_##Word = (uint64_t)(tag_pattern_) };                                                         \
    enum { tally__pointer_##Word = (uint64_t)(pointer_mask_) };                                                        \
    TALLY__ASSERT(((uint64_t)(tag_pattern_) & ~(uint64_t)(tag_mask_)) == 0, "the pattern of " #Word " leaves its mask"); \
    TALLY__UNUSED static const uint32_t tally__refs_##Word[] = {0, 0};                                                 \
    TALLY__KEPT TALLY__DESCRIPTOR(static, Word, 0, 8, TALLY__TAGGED(Word), 1, 0, 0, 0, NULL, NULL)

#define TALLY_TYPE_TAGGED(Type, Word, ...)                                                                             \
    TALLY__MARKED_FIELDS(Type, Word, 0, __VA_ARGS__)                                                                   \
    TALLY__DESCRIBE_FIXED(static, Type, 0, TALLY__TAGGED(Word), NULL)

#define TALLY_ARRAY_TYPE_TAGGED(Type, Word, length, elements, ...)                                                     \
    TALLY__MARKED_FIELDS(Type, Word, 0, __VA_ARGS__)                                                                   \
    TALLY__MARKED_ELEMENT(Type, elements, Word, 0)                                                                     \
    TALLY__DESCRIBE_TAIL(Type, length, elements, TALLY__TAGGED(Word), NULL)

/* Elements are structs: TALLY_STRUCT_ARRAY_TYPE_TAGGED(Table, Value, length, entries, (key, value, next)). */
#define TALLY_STRUCT_ARRAY_TYPE_TAGGED(Type, Word, length, elements, element_fields, ...)                              \
    TALLY__MARKED_FIELDS(Type, Word, 0, __VA_ARGS__)                                                                   \
    TALLY__MARKED_ELEMENTS(Type, elements, Word, 0, TALLY__BARE element_fields)                                        \
    TALLY__DESCRIBE_TAIL(Type, length, elements, TALLY__TAGGED(Word), NULL)

/* ---- Objects --------------------------------------------------------------------------------------------------------
 * A new object's reference words are null; the program sets the others. Both are safepoints. */
#define TALLY_NEW(Type) ((Type *)tally_new(&tally_type_##Type))
#define TALLY_NEW_ARRAY(Type, n) ((Type *)tally_new_array(&tally_type_##Type, (n)))
/* The same, but NULL when memory has run out. */
#define TALLY_TRY_NEW(Type) ((Type *)tally_try_new(&tally_type_##Type))
#define TALLY_TRY_NEW_ARRAY(Type, n) ((Type *)tally_try_new_array(&tally_type_##Type, (n)))

/* ---- References of a type of their own ------------------------------------------------------------------------------
 * TALLY_REF(Node) is the type of a reference to a Node: `TALLY_REF(Node) list = TALLY_NEW_REF(Node);`. Such references need no root and no
 * macro for writes: what is needed after a call is kept, and `list->next = node` goes through the barrier. To pass one to a function
 * over plain pointers, such as printf, cast it; it is kept while the call runs. */
#define TALLY_REF(Type) __typeof__(Type __attribute__((address_space(1))) *)
#define TALLY_NEW_REF(Type) ((TALLY_REF(Type))tally_new(&tally_type_##Type))
#define TALLY_NEW_ARRAY_REF(Type, n) ((TALLY_REF(Type))tally_new_array(&tally_type_##Type, (n)))

/* ---- Pairs ----------------------------------------------------------------------------------------------------------
 * Pair is a struct of 16 bytes, `tag` and `word` its members. It holds a reference if the bits tag_mask of the eight bytes in which `tag` lies
 * are tag_pattern, and the word is not null. A tag may be one byte: typedef struct Value { union { … } word; uint8_t tag; } Value. Roots:
 * TALLY_ROOT_AS(Pair, variables…). */
#define TALLY_PAIR_TYPE(Pair, tag_, word_, tag_mask_, tag_pattern_)                                                    \
    TALLY__ASSERT(sizeof(Pair) == 16 && TALLY__ALIGN(Pair) >= 8, #Pair " must be a struct of two words");              \
    TALLY__ASSERT(sizeof(((Pair *)0)->word_) == 8 && offsetof(Pair, word_) % 8 == 0, #word_ " of " #Pair " must be a word"); \
    TALLY__ASSERT(offsetof(Pair, tag_) / 8 != offsetof(Pair, word_) / 8, #tag_ " and " #word_ " of " #Pair " lie in one word"); \
    enum { tally__mask_##Pair = (uint64_t)(tag_mask_) << offsetof(Pair, tag_) % 8 * 8 };                               \
    enum { tally__pattern_##Pair = (uint64_t)(tag_pattern_) << offsetof(Pair, tag_) % 8 * 8 };                         \
    enum { tally__word_of_##Pair = offsetof(Pair, word_) };                                                            \
    TALLY__UNUSED static const uint32_t tally__refs_##Pair[] = {tally__word_of_##Pair, 0};                             \
    TALLY__KEPT TALLY__DESCRIPTOR(static, Pair, 0, 16, TALLY__PAIRS(Pair), 1, 0, 0, 0, NULL, NULL)

/* Objects with pairs; arrays of pairs; arrays of structs with pairs: TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Nodes, Value, count, at, (key, value, next)).
 * Each listed field is a Pair, for TALLY_WRITE_PAIR, or a pointer: a plain reference, for TALLY_WRITE. */
#define TALLY_TYPE_OF_PAIRS(Type, Pair, ...)                                                                           \
    TALLY__MARKED_FIELDS(Type, Pair, tally__word_of_##Pair, __VA_ARGS__)                                               \
    TALLY__DESCRIBE_FIXED(static, Type, 0, TALLY__PAIRS(Pair), NULL)
#define TALLY_ARRAY_TYPE_OF_PAIRS(Type, Pair, length, elements, ...)                                                   \
    TALLY__MARKED_FIELDS(Type, Pair, tally__word_of_##Pair, __VA_ARGS__)                                               \
    TALLY__MARKED_ELEMENT(Type, elements, Pair, tally__word_of_##Pair)                                                 \
    TALLY__DESCRIBE_TAIL(Type, length, elements, TALLY__PAIRS(Pair), NULL)
#define TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Type, Pair, length, elements, element_fields, ...)                            \
    TALLY__MARKED_FIELDS(Type, Pair, tally__word_of_##Pair, __VA_ARGS__)                                               \
    TALLY__MARKED_ELEMENTS(Type, elements, Pair, tally__word_of_##Pair, TALLY__BARE element_fields)                    \
    TALLY__DESCRIBE_TAIL(Type, length, elements, TALLY__PAIRS(Pair), NULL)

/* ---- Roots ----------------------------------------------------------------------------------------------------------
 * TALLY_ROOT: variables that hold a plain reference or null. TALLY_ROOT_TAGGED: variables that hold a tagged Word.
 * TALLY_ROOT_AS: struct variables laid out as Type describes, and so holding its references. Locals and parameters only, those that
 * are returned too. TALLY_ROOT_WITH: variables that hold a reference to an object that the callback of tally_trace_with understands by
 * `meta`, the address of a constant. As for any local, the address of one must not be used after the return, nor stored in the struct itself.
 * With TALLY_ROOTS_INFERRED defined TALLY_ROOT says nothing: the program is compiled with --roots auto. */
#ifdef TALLY_ROOTS_INFERRED
#define TALLY_ROOT(...) ((void)0)
#else
#define TALLY_ROOT(...) do { TALLY__EACH(TALLY__ROOT, , __VA_ARGS__) } while (0)
#endif
#define TALLY_ROOT_TAGGED(Word, ...) do { TALLY__EACH(TALLY__ROOT_TAGGED, Word, __VA_ARGS__) } while (0)
#define TALLY_ROOT_AS(Type, ...) do { TALLY__EACH(TALLY__ROOT_AS, Type, __VA_ARGS__) } while (0)
#define TALLY_ROOT_WITH(meta, ...) do { TALLY__EACH(TALLY__ROOT_WITH, meta, __VA_ARGS__) } while (0)

/* ---- Fields ---------------------------------------------------------------------------------------------------------
 * `field` is whatever may follow `object->`: next, child[1], at[i], entries[i].key. The value is computed first, so it may be an
 * allocation; the object should be a variable. `slot` is a pointer to a reference inside the object. */
#define TALLY_WRITE(object, field, value)                                                                              \
    do {                                                                                                               \
        __typeof__((object)->field) tally__value = (value);                                                            \
        __typeof__(object) tally__object = (object);                                                                   \
        tally__gcwrite(TALLY__POINTER(tally__value), tally__object, &tally__object->field);                            \
    } while (0)

#define TALLY_WRITE_AT(object, slot, value)                                                                            \
    do {                                                                                                               \
        __typeof__(*(slot)) tally__value = (value);                                                                    \
        tally__gcwrite(TALLY__POINTER(tally__value), (object), (slot));                                                \
    } while (0)

#define TALLY_WRITE_TAGGED(object, field, word)                                                                        \
    do {                                                                                                               \
        __typeof__((object)->field) tally__value = (word);                                                             \
        __typeof__(object) tally__object = (object);                                                                   \
        tally_gcwrite_i64(TALLY__WORD(tally__value), tally__object, &tally__object->field);                            \
    } while (0)

/* The same for an object that is open (tally_object_open): plain stores, but under the prompt plan. */
#define TALLY_WRITE_OPEN(object, field, value)                                                                         \
    do {                                                                                                               \
        __typeof__((object)->field) tally__value = (value);                                                            \
        __typeof__(object) tally__object = (object);                                                                   \
        tally_write_open(TALLY__POINTER(tally__value), tally__object, &tally__object->field);                          \
    } while (0)

#define TALLY_WRITE_OPEN_TAGGED(object, field, word)                                                                   \
    do {                                                                                                               \
        __typeof__((object)->field) tally__value = (word);                                                             \
        __typeof__(object) tally__object = (object);                                                                   \
        tally_write_open_i64(TALLY__WORD(tally__value), tally__object, &tally__object->field);                         \
    } while (0)

/* Writes a pair, tag and word at once. */
#define TALLY_WRITE_PAIR(object, field, value)                                                                         \
    do {                                                                                                               \
        union {                                                                                                        \
            __typeof__((object)->field) pair;                                                                          \
            uint64_t words[2];                                                                                         \
        } tally__value = {(value)};                                                                                    \
        TALLY__ASSERT(sizeof(tally__value.pair) == 16, #field " is no pair");                                          \
        __typeof__(object) tally__object = (object);                                                                   \
        tally_write_pair(tally__object, &tally__object->field, tally__value.words[0], tally__value.words[1]);          \
    } while (0)

/* Reading a field by `object->field` is the same today; a read through the macro stays right if a read barrier comes. */
#define TALLY_READ(object, field)                                                                                      \
    ({                                                                                                                 \
        __typeof__(object) tally__object = (object);                                                                   \
        (__typeof__(tally__object->field))tally__gcread(tally__object, &tally__object->field);                         \
    })
#define TALLY_READ_AT(object, slot) ((__typeof__(*(slot)))tally__gcread((object), (slot)))

/* Copies n references to the slots from `slot` on inside `object`; the ranges may overlap. */
#define TALLY_COPY(object, slot, from, n)                                                                              \
    do {                                                                                                               \
        TALLY__ASSERT(TALLY__SAME(__typeof__(*(slot)), __typeof__(*(from))), "slots differ in type");                  \
        tally_copy_refs((object), (slot), (from), (n));                                                                \
    } while (0)

/* The array in a field has n elements afterwards: the same object, or another that has its elements. A safepoint: read the field anew. */
#define TALLY_RESIZE(object, field, n)                                                                                 \
    do {                                                                                                               \
        __typeof__(object) tally__object = (object);                                                                   \
        (void)TALLY__POINTER(tally__object->field);                                                                    \
        tally_resize(tally__object, &tally__object->field, (n));                                                       \
    } while (0)

/* Stores a reference into a global variable, which makes it a root of the program for as long as it runs. `global` names the
   variable itself, an element or a field: `list`, `table[i]`, `records[i].node`; never `*p`. */
#define TALLY_WRITE_GLOBAL(global, value)                                                                              \
    do {                                                                                                               \
        __typeof__(global) tally__value = (value);                                                                     \
        tally__gcwrite(TALLY__POINTER(tally__value), &(global), &(global));                                            \
    } while (0)

/* ---- How the macros above are made ---------------------------------------------------------------------------------- */

#if defined(__cplusplus)
#define TALLY__SAME __is_same
#define TALLY__ALIGN alignof
#define TALLY__IS_POINTER(field) __is_pointer(__typeof__(field))
#else
#define TALLY__SAME __builtin_types_compatible_p
#define TALLY__ALIGN _Alignof
/* 5 is the class of pointers, and of arrays, which the comma makes pointers. */
#define TALLY__IS_POINTER(field)                                                                                       \
    (__builtin_classify_type(field) == 5 && TALLY__SAME(__typeof__(field), __typeof__(((void)0, (field)))))
#endif
#define TALLY__UNUSED __attribute__((unused))
/* Shows the lowering how words and pairs are read, in a file that makes no object with them. It takes the mark away. */
#define TALLY__KEPT __attribute__((used))
#define TALLY__PLAIN (TALLY_SLOT_POINTER, 0, 0, 0)
/* By way of a type that says nothing of parameters: the cast to another type is meant. */
#define TALLY__FINALIZER(finalize_) (void (*)(void *))(void (*)(void))(finalize_)
#define TALLY__CHECK_FINALIZE(Type, finalize_)                                                                         \
    TALLY__ASSERT(TALLY__SAME(__typeof__(finalize_), void(Type *)),                                                    \
                  #finalize_ " is not a `void " #finalize_ "(" #Type " *)`")
#define TALLY__TAGGED(Word)                                                                                            \
    ((uint64_t)tally__mask_##Word < 8 ? TALLY_SLOT_TAGGED : TALLY_SLOT_NAN_BOXED, (uint64_t)tally__mask_##Word,        \
     (uint64_t)tally__pattern_##Word, (uint64_t)tally__pointer_##Word)

#define TALLY__PAIRS(Pair)                                                                                             \
    (tally__word_of_##Pair == 0 ? TALLY_SLOT_TAG_BEHIND : TALLY_SLOT_TAG_BEFORE, (uint64_t)tally__mask_##Pair,         \
     (uint64_t)tally__pattern_##Pair, ~UINT64_C(0))

/* Fields of the type Tagged, at whose `word` the reference lies, and pointers: their entries in the order of the struct, with TALLY_PLAIN_REF for
 * pointers. The first list is that of the fixed part, the others are those of the elements, as words and as structs. */
#define TALLY__MARKED_FIELDS(Type, Tagged, word, ...)                                                                  \
    TALLY__MARKED_LIST(tally__refs_##Type, Type, Tagged, word, __VA_ARGS__)
#define TALLY__MARKED_ELEMENTS(Type, elements, Tagged, word, ...)                                                      \
    typedef __typeof__(((Type *)0)->elements[0]) tally__element_##Type;                                                \
    TALLY__MARKED_LIST(tally__elements_##Type, tally__element_##Type, Tagged, word, __VA_ARGS__)
#define TALLY__MARKED_ELEMENT(Type, elements, Tagged, word)                                                            \
    TALLY__CHECK_MARKED_(Type, Tagged, word, elements[0])                                                              \
    TALLY__UNUSED static const uint32_t tally__elements_##Type[] = {                                                   \
        TALLY__SAME(__typeof__(((Type *)0)->elements[0]), Tagged) ? word : TALLY_PLAIN_REF, 0};
#define TALLY__MARKED_LIST(list, Type, Tagged, word, ...)                                                              \
    TALLY__EACH(TALLY__CHECK_MARKED, (Type, Tagged, word), __VA_ARGS__) TALLY__ASCEND(Type, __VA_ARGS__)               \
    TALLY__UNUSED static const uint32_t list[] = {TALLY__EACH(TALLY__MARKED, (Type, Tagged, word), __VA_ARGS__) 0};
#define TALLY__CALL(macro, ...) macro(__VA_ARGS__)
#define TALLY__MARKED(of, field) TALLY__CALL(TALLY__MARKED_, TALLY__BARE of, field)
#define TALLY__MARKED_(Type, Tagged, word, field)                                                                      \
    (uint32_t)(offsetof(Type, field) + (TALLY__SAME(__typeof__(((Type *)0)->field), Tagged) ? word : TALLY_PLAIN_REF)),
#define TALLY__CHECK_MARKED(of, field) TALLY__CALL(TALLY__CHECK_MARKED_, TALLY__BARE of, field)
#define TALLY__CHECK_MARKED_(Type, Tagged, word, field)                                                                \
    TALLY__ASSERT(TALLY__SAME(__typeof__(((Type *)0)->field), Tagged) || TALLY__IS_POINTER(((Type *)0)->field),        \
                  #field " of " #Type " is not a " #Tagged ", nor a pointer");                                         \
    TALLY__ASSERT(offsetof(Type, field) % 8 == 0, #field " of " #Type " does not lie at a multiple of 8");

/* The fields of a tally_type in their order: C++17 has no designators, and asks for every field. `kind` is a list in parentheses: the slot
 * kind, the tag's mask and pattern, and the pointer's mask. */
#define TALLY__DESCRIPTOR(linkage, Type, flags_, size_, kind, refs, elements, length_at, stride_, element_refs, finalize_) \
    linkage const tally_type tally_type_##Type = {TALLY_TYPE_VERSION, flags_, size_,                                   \
        TALLY__ALIGN(Type) > 8 ? TALLY__ALIGN(Type) : 0, TALLY__BARE kind, refs, elements, tally__refs_##Type, length_at, \
        stride_, element_refs, #Type, finalize_, NULL, NULL, NULL}

/* A trailing 0 keeps an empty list legal C; the counts leave it out. */
#define TALLY__DESCRIBE(linkage, Type, flags_, kind, finalize_, ...)                                                   \
    TALLY__FIXED_PART(Type, __VA_ARGS__)                                                                               \
    TALLY__DESCRIBE_FIXED(linkage, Type, flags_, kind, finalize_)
#define TALLY__DESCRIBE_FIXED(linkage, Type, flags_, kind, finalize_)                                                  \
    TALLY__UNUSED TALLY__DESCRIPTOR(linkage, Type, flags_, sizeof(Type), kind, TALLY__COUNT(tally__refs_##Type), 0, 0, 0, NULL, finalize_)

#define TALLY__DESCRIBE_ARRAY(Type, kind, finalize_, length_, elements_, ...)                                          \
    TALLY__FIXED_PART(Type, __VA_ARGS__)                                                                               \
    TALLY__DESCRIBE_TAIL(Type, length_, elements_, kind, finalize_)
#define TALLY__DESCRIBE_TAIL(Type, length_, elements_, kind, finalize_)                                                \
    TALLY__ASSERT(TALLY__SAME(__typeof__(((Type *)0)->length_), uint64_t),                                             \
                   "the length of " #Type " must be a uint64_t");                                                      \
    TALLY__ASSERT(offsetof(Type, elements_) % 8 == 0, "the elements of " #Type " must begin at a multiple of 8");      \
    TALLY__ASSERT(TALLY__COUNT(tally__elements_##Type) == 0 || sizeof(((Type *)0)->elements_[0]) % 8 == 0,             \
                   "the size of an element of " #Type " must be a multiple of 8");                                     \
    TALLY__UNUSED TALLY__DESCRIPTOR(static, Type, 0, offsetof(Type, elements_), kind, TALLY__COUNT(tally__refs_##Type), \
        TALLY__COUNT(tally__elements_##Type), offsetof(Type, length_), sizeof(((Type *)0)->elements_[0]),              \
        tally__elements_##Type, finalize_)

#define TALLY__FIXED_PART(Type, ...)                                                                                   \
    TALLY__UNUSED static const uint32_t tally__refs_##Type[] = {TALLY__EACH(TALLY__OFFSET, Type, __VA_ARGS__) 0};
#define TALLY__ELEMENT_IS_WORD(Type) TALLY__UNUSED static const uint32_t tally__elements_##Type[] = {0, 0};
#define TALLY__COUNT(list) (sizeof(list) / sizeof((list)[0]) - 1)
#define TALLY__OFFSET(Type, field) offsetof(Type, field),

#define TALLY__POINTER_FIELDS(Type, ...)                                                                               \
    TALLY__EACH(TALLY__CHECK_POINTER_, Type, __VA_ARGS__) TALLY__ASCEND(Type, __VA_ARGS__)
#define TALLY__CHECK_POINTER_(Type, field) TALLY__CHECK_POINTER(Type, field);
#define TALLY__CHECK_POINTER(Type, field)                                                                              \
    TALLY__ASSERT(sizeof(&*((Type *)0)->field) == sizeof ((Type *)0)->field, #field " of " #Type " is not a pointer"); \
    TALLY__ASSERT(offsetof(Type, field) % 8 == 0, #field " of " #Type " does not lie at a multiple of 8")
#define TALLY__IN_ORDER(...) TALLY__IN_ORDER_(__VA_ARGS__)
#define TALLY__IN_ORDER_(Type, first, second)                                                                          \
    TALLY__ASSERT(offsetof(Type, first) < offsetof(Type, second),                                                      \
                   "name " #second " before " #first ": the order is that of the struct");

/* The address goes straight into the call: llvm.gcroot wants the variable itself. `&*` refuses what is not a pointer. */
#define TALLY__ROOT(nothing, variable)                                                                                 \
    TALLY__ASSERT(sizeof(&*(variable)) == sizeof(variable), #variable " is not a pointer");                            \
    tally__gcroot((void *)&(variable), NULL);
#define TALLY__ROOT_TAGGED(Word, variable)                                                                             \
    TALLY__ASSERT(TALLY__SAME(__typeof__(variable), Word), #variable " is not a " #Word);                              \
    tally__gcroot(&(variable), &tally_type_##Word);
#define TALLY__ROOT_WITH(meta, variable)                                                                               \
    TALLY__ASSERT(sizeof(&*(variable)) == sizeof(variable), #variable " is not a pointer");                            \
    tally__gcroot((void *)&(variable), (meta));
#define TALLY__ROOT_AS(Type, variable)                                                                                 \
    TALLY__ASSERT(TALLY__SAME(__typeof__(variable), Type), #variable " is not a " #Type);                              \
    tally__gcroot(&(variable), &tally_type_##Type);

#define TALLY__POINTER(value) (&*(value))
#define TALLY__WORD(value) _Generic((value), uint64_t: (value))

/* TALLY__EACH(m, t, a, b, …) is m(t, a) m(t, b) …, up to 64 of them; TALLY__ASCEND is TALLY__IN_ORDER of every neighbouring pair. */
#define TALLY__BARE(...) __VA_ARGS__
#define TALLY__FIRST(first, ...) first
#define TALLY__NONE()
#define TALLY__EACH(m, t, ...) __VA_OPT__(TALLY__AGAIN64(TALLY__EACH_(m, t, __VA_ARGS__)))
#define TALLY__EACH_(m, t, a, ...) m(t, a) __VA_OPT__(TALLY__EACH_NEXT TALLY__NONE()()(m, t, __VA_ARGS__))
#define TALLY__EACH_NEXT() TALLY__EACH_
#define TALLY__ASCEND(t, ...) __VA_OPT__(TALLY__AGAIN64(TALLY__ASCEND_(t, __VA_ARGS__)))
#define TALLY__ASCEND_(t, a, ...)                                                                                      \
    __VA_OPT__(TALLY__IN_ORDER(t, a, TALLY__FIRST(__VA_ARGS__, )) TALLY__ASCEND_NEXT TALLY__NONE()()(t, __VA_ARGS__))
#define TALLY__ASCEND_NEXT() TALLY__ASCEND_
#define TALLY__AGAIN64(...) TALLY__AGAIN16(TALLY__AGAIN16(TALLY__AGAIN16(TALLY__AGAIN16(__VA_ARGS__))))
#define TALLY__AGAIN16(...) TALLY__AGAIN4(TALLY__AGAIN4(TALLY__AGAIN4(TALLY__AGAIN4(__VA_ARGS__))))
#define TALLY__AGAIN4(...) TALLY__AGAIN1(TALLY__AGAIN1(TALLY__AGAIN1(TALLY__AGAIN1(__VA_ARGS__))))
#define TALLY__AGAIN1(...) __VA_ARGS__

#endif
