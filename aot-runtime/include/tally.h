/* tally.h: the C view of Tally's runtime ABI, version 1.
 *
 * This header has layouts and entry points as a frontend's IR, or C that is compiled together with it, sees them. Programs in C
 * include <tally_gc.h>, macros on top of this header. Sizes are bytes; every offset is asserted below, and asserted again
 * in the runtime and in the lowering. x86-64, AArch64 and RISC-V 64 Linux, C11 or C++11.
 *
 * An object. A reference points to the payload, whose layout is the frontend's; eight bytes before it belong to the runtime:
 *
 *        -8            -4            0                          size
 *        | u32 stamp   | u32 meta    | payload (fixed part)     | tail elements …
 *                                    ^ reference
 *
 * A reference that points outside the heap is legal wherever a reference is (a static string, a class constant): it is never
 * counted, never followed, never freed. Only objects of the heap may be written into.
 *
 * Calls. Functions marked [safepoint] may run an epoch: a reference that is used after the call stands in a root before it. In a gc
 * function such calls carry the roots, which `tally lower` adds. Code that was not lowered must not make them while it is
 * called from gc functions that expect their objects to be found. Functions marked [leaf] never run an epoch.
 */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TALLY__ASSERT(condition, text) static_assert(condition, text)
#else
#define TALLY__ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* ---- Type descriptors ----------------------------------------------------------------------------------------------- */

/* tally_type.flags: no object of this type is ever part of a cycle. */
#define TALLY_ACYCLIC 1u
/* Objects of this type are ephemerons: while one has a key (tally_ephemeron_key_write), its references are alive only as long as that is.
 * It has a fixed size of at most 8192 bytes and no trace function. */
#define TALLY_EPHEMERON 2u
/* The order of finalizers of objects that are found dead together: last registered first; owners before the objects that they
 * refer to (members of a ring in any order); without a flag, any. */
#define TALLY_FINALIZE_REVERSE 4u
#define TALLY_FINALIZE_OWNER_FIRST 8u
/* Only objects that were given to tally_finalize_register are finalized; without it, all are registered at birth. */
#define TALLY_FINALIZE_REGISTERED 16u

/* tally_type.slot_kind: how the words at the reference offsets are read. */
#define TALLY_SLOT_POINTER 0u   /* a plain reference, or null */
#define TALLY_SLOT_TAGGED 1u    /* low bits are a tag: see tag_mask */
#define TALLY_SLOT_NAN_BOXED 2u /* high bits are a tag: see tag_mask */
#define TALLY_SLOT_TRACE 3u     /* `trace` finds the references */
#define TALLY_SLOT_TAG_BEFORE 4u /* pairs: the word before the one at the offset is its tag, to which tag_mask and tag_pattern are applied */
#define TALLY_SLOT_TAG_BEHIND 5u /* pairs: the word behind it is its tag */

/* Added to an offset in ref_offsets or element_ref_offsets of a type whose slot_kind has tags (1, 2, 4 or 5): the word there is a plain reference, or
 * null, whatever the slot_kind says of the others. It is written by llvm.gcwrite. */
#define TALLY_PLAIN_REF 1u

typedef struct tally_type tally_type;

/* Called by a trace function, once for each reference that it finds. */
typedef void (*tally_visit)(void *reference, void *context);

/* Where an object's references are. A constant global of the program, one per type; the runtime checks it when the module is
 * registered and refuses a wrong one by name. As the second argument of llvm.gcroot it describes a stack slot as if that were
 * a payload. */
struct tally_type {
    uint32_t version;                    /* TALLY_TYPE_VERSION */
    uint32_t flags;                      /* TALLY_ACYCLIC, TALLY_FINALIZE_…, or 0 */
    uint64_t size;                       /* bytes of the fixed part of the payload */
    uint32_t align;                      /* of the payload: a power of two up to 4096; 0 means 8 */
    uint32_t slot_kind;                  /* TALLY_SLOT_… */
    uint64_t tag_mask;                   /* a word w is a reference iff (w & tag_mask) == tag_pattern … */
    uint64_t tag_pattern;                /* … and (w & pointer_mask) != 0; the object is w & pointer_mask */
    uint64_t pointer_mask;
    uint32_t ref_count;                  /* entries in ref_offsets */
    uint32_t element_ref_count;          /* entries in element_ref_offsets */
    const uint32_t *ref_offsets;         /* offsets of references in the fixed part: ascending multiples of 8; TALLY_PLAIN_REF */
    uint64_t length_offset;              /* with a tail: offset of the u64 that the runtime sets to the number of elements */
    uint64_t stride;                     /* bytes of a tail element, 0 = no tail; the tail begins at `size`, a multiple of 8 */
    const uint32_t *element_ref_offsets; /* offsets of references in one element, likewise */
    const char *name;                    /* for messages and reports */
    /* The destructor, or null. Called once, as code of the program at a safepoint, when the object was found dead: under the prompt
     * plan when its last reference has gone, else after the epoch that has found it. It may do anything. If it stores the object
     * somewhere, that lives on, and the destructor does not run again. What it throws: tally_on_finalizer_error. */
    void (*finalize)(void *object);
    /* TALLY_SLOT_TRACE only: reads an image of the fixed part (n = size / 8 words) or of one element (n = stride / 8). The
     * image may be a copy: it interprets the words it is given and nothing else, has no roots, and calls nothing of this header. Words that it
     * reads to tell references from others (a tag beside a pointer) are stored like references, with tally_gcwrite_i64, once
     * the object may be known to the collector: the log must have them as they were when the references were. */
    void (*trace)(const uint64_t *words, uint64_t n, tally_visit visit, void *context);
    const tally_type *const *ref_types;         /* static types of the fields at ref_offsets; null, or null entries: any */
    const tally_type *const *element_ref_types; /* the same for element_ref_offsets */
};

#define TALLY_TYPE_VERSION 1u

/* ---- Objects -------------------------------------------------------------------------------------------------------- */

/* [safepoint] A new object: its reference words are null, the other words are not set. Ends the program with status 4 when the
 * heap limit is reached. Calls with a constant descriptor are lowered inline. */
void *tally_new(const tally_type *type);

/* [safepoint] A new object with n tail elements, all zero; the length field is set to n and must not be changed. */
void *tally_new_array(const tally_type *type, uint64_t n);

/* [safepoint] The same, but null when there is no room for the object, or could never be: after a collection, and after asking the
 * handler of tally_on_out_of_memory. */
void *tally_try_new(const tally_type *type);
void *tally_try_new_array(const tally_type *type, uint64_t n);

/* [leaf] Stores a tagged word into a slot of a heap object, through the write barrier. The lowering makes it inline code where
 * it can. For plain references: llvm.gcwrite. */
void tally_gcwrite_i64(uint64_t word, void *object, void *slot);

/* [leaf] Writes two words that lie side by side, a tag and what it tells of: for types with TALLY_SLOT_TAG_BEFORE, TALLY_SLOT_TAG_BEHIND or
 * a trace function. `pair` is the first of them, as `first` is; both are of one pair. */
void tally_write_pair(void *object, void *pair, uint64_t first, uint64_t second);

/* [leaf] Opens an object: from now on its references are written by tally_write_open alone, without a barrier, and it is held as by a global
 * handle. For the stack of an interpreter while that runs: pushes are plain stores under the deferred and the trace plan, and each flip looks at
 * the whole object; under the prompt plan they are counted as ever. tally_object_close makes it an object like others again, as soon as
 * it is written to seldom. One that is opened twice is closed twice. Its number of elements must not change while it is open. An
 * ephemeron cannot be open: the process ends with status 2. */
void tally_object_open(void *object);
void tally_object_close(void *object);

/* [leaf] Writes `value` to `slot`, a reference in `object`, which is open; the second for words that the object's type reads, such as tagged ones. */
void tally_write_open(void *value, void *object, void *slot);
void tally_write_open_i64(uint64_t word, void *object, void *slot);

/* [leaf] memmove of n reference words into `object`, through the write barrier. When n is 0 the pointers may be null; the same
 * holds for tally_fill_refs. */
void tally_copy_refs(void *object, void *to, const void *from, uint64_t n);

/* [leaf] Stores `word` into n slots of `object` from `to` on, through the write barrier. */
void tally_fill_refs(void *object, void *to, uint64_t word, uint64_t n);

/* Storage that grows: the array of a list, the nodes of a table. Objects do not move, so an owner has its storage in a field, and the field is
 * what these functions are given. They allocate what is needed and replace the reference; the elements take their counts along where
 * they can. What the old storage holds afterwards is not promised: read the field anew. It must not have a finalizer, weak slots, weak
 * references to it, external bytes. Frees and finalizers may run first. */

/* [safepoint] The object that the slot `field` of `owner` refers to has n elements afterwards: those that were there, then zeros. Where
 * there is room it is the same object. A type with a trace function: `field` is the word that holds the address. */
void tally_resize(void *owner, void *field, uint64_t n);

/* [safepoint] The same; 0 when there is no room, and nothing has changed. */
int32_t tally_try_resize(void *owner, void *field, uint64_t n);

/* [safepoint] The same where elements change their places, as in a hash table: `rehash` fills the new storage, whose elements are zero, from
 * the old one. It copies elements by plain stores, each at most once; those that it leaves out are released. It writes nothing else of
 * the heap, makes no object, and calls nothing of this header. */
void tally_rehash(void *owner, void *field, uint64_t n, void (*rehash)(const void *from, void *to, void *context), void *context);

/* ---- Control -------------------------------------------------------------------------------------------------------- */

/* [safepoint] Lets collection work that is due be done. The lowering makes it one load and one branch. */
void tally_safepoint(void);

/* [safepoint] Collects until nothing unreachable is left, cycles included. */
void tally_collect(void);

/* [leaf] The object's finalizer is to run when it is found dead: for types with TALLY_FINALIZE_REGISTERED, and once more where it has
 * run. 0: its type has none. */
int32_t tally_finalize_register(void *object);

/* [leaf] The object's finalizer is not to run, also if the object was found dead already and is waiting for it. */
void tally_finalize_forget(void *object);

/* [leaf] Says whether finalizers run after `main` has returned or exit is called. Normally those of all objects that are left do:
 * in the order of their types, then the newest first, and those of objects that they make, for up to 10 rounds. 0: they never do. */
void tally_finalize_at_exit(int32_t on);

/* [safepoint] Runs the finalizers of all objects of this thread's heap that have not run, reachable or not: in the order of the end of the
 * program, and with its rounds. The objects stay as they are, and are not finalized again. For a part of a program that ends before the
 * program does, as a state of an interpreter. Inside a finalizer it does nothing. */
void tally_finalize_all(void);

/* [leaf] Sets the hook for a C++ exception, an exception of another language, a Rust panic or a longjmp that escapes a finalizer. The
 * other finalizers run. `hook` takes the object, its type, the exception's message, and the exception as the unwinder knows it (null for
 * a panic, and for longjmp, after which it is called at the next safepoint); the exception is deleted afterwards. The hook may do what a
 * finalizer may; in C++ it may say `throw;` inside a try. One hook for the process; null, the default: a line on standard error. */
void tally_on_finalizer_error(void (*hook)(void *object, const char *type, const char *message, void *exception));

/* [safepoint] Does a part of an explicit collection that takes about `ns` nanoseconds. Returns not 0 when the collection is complete: no
 * object is left that was unreachable at its first part. The next call begins another. Under the prompt plan objects at zero die in parts,
 * and a sliced mark judges cycles. For hosts that have time now: while (!tally_step(500000)) look_for_input(); */
int32_t tally_step(uint64_t ns);

/* [safepoint] The same, as large as the work that the collector owes for `bytes` of allocation: some 2 ms for each MiB. */
int32_t tally_step_bytes(uint64_t bytes);

/* [leaf] Bytes of the objects that are not known to be dead, young ones included: more with each allocation, fewer after a collection. In the
 * midst of an epoch of the deferred plan those that await promotion are left out. Where nothing else has allocations counted, the
 * deferred plan counts them from the first call on. */
uint64_t tally_live_bytes(void);

/* [leaf] Stops the collector: no epoch, no drain, no destructor runs by itself until tally_restart. Writes are noted meanwhile, so no
 * garbage is lost. tally_collect, tally_step and the collection of a heap at its limit do their work all the same, and the
 * collector stays stopped. Calls do not nest. */
void tally_stop(void);
void tally_restart(void);
int32_t tally_is_running(void);

/* [leaf] Bytes allocated between two epochs; less than 4096 means 4096. Under the prompt plan: the unit for which garbage cycles wait
 * where less than that is alive. */
void tally_set_epoch_bytes(uint64_t bytes);

/* [leaf] The longest stop to aim at, as the option --pause-goal; 0 = none. */
void tally_set_pause_goal(uint64_t ns);

/* [leaf] Says each epoch, collection, round or mark from now on in a line on standard error, as the option --log=collections; 0 = no more. */
void tally_log_collections(int32_t on);

/* [leaf] Takes a hint, as Lua's collectgarbage("generational") does; returns the one before. 0: only returns it. Hints change nothing: under
 * every plan young objects are judged apart, and work goes in steps. */
enum { TALLY_INCREMENTAL = 1, TALLY_GENERATIONAL = 2 };
int32_t tally_collector_mode(int32_t mode);

/* [leaf] Bytes of the heap beyond which the callback of tally_on_soft_limit is called, and those that must not be exceeded, as
 * the option --heap-limit; 0 = none. */
void tally_set_limits(uint64_t soft, uint64_t hard);

/* [leaf] Sets the callback that is called at the first safepoint after the heap has grown beyond the soft limit, once each time; null =
 * none. It is ordinary code: it may drop objects, collect, allocate, and set other limits. No exception may escape it. */
void tally_on_soft_limit(void (*callback)(uint64_t used, void *context), void *context);

/* [leaf] Sets the handler for an allocation that finds no room after a collection; null = none. It returns not 0 if there may be
 * room now: the allocation is tried again, sixteen times at most. Otherwise tally_try_new returns null and tally_new ends
 * the program with status 4. The handler is ordinary code, and is not called for its own allocations. */
void tally_on_out_of_memory(int32_t (*handler)(uint64_t requested, void *context), void *context);

/* ---- Handles --------------------------------------------------------------------------------------------------------
 * How native code keeps references across safepoints. Read a handle's object by `handle->object`. Handles belong to the thread. */

typedef struct tally_handle {
    void *const object;
} tally_handle;
typedef struct tally_global {
    void *const object;
} tally_global;

/* [leaf] A scoped handle: keeps `object`, which may be null, until its scope is closed. */
tally_handle *tally_handle_new(void *object);

/* [leaf] Lets it keep something else. */
void tally_handle_set(tally_handle *handle, void *object);

/* [leaf] Opens a scope, and closes it with all that were opened in it: the handles made since then are none any more. A scope is a place
 * among the handles: what is no place of theirs, or lies beyond the last, ends the program with status 2. One that is closed twice
 * closes what was opened at its place since. A scope that an exception or longjmp has left open is closed with the next around it;
 * null closes all, as the thread's end does. */
void *tally_handles_open(void);
void tally_handles_close(void *scope);

/* [leaf] A global handle keeps its object until it is freed. Freed null is nothing, freed twice the end of the program. */
tally_global *tally_global_new(void *object);
void tally_global_set(tally_global *global, void *object);
void tally_global_free(tally_global *global);

/* ---- What objects own outside, and which never die ------------------------------------------------------------------ */

/* [leaf] `object` owns so many bytes outside the heap more than before, or fewer: the collector reckons with them as with allocated
 * ones. They end with the object; it need not say so. */
void tally_external_bytes(void *object, int64_t delta);

/* [safepoint] A new object that owns `pointer`, its first word. `free_it` is called once with it, when the object's memory goes: in the
 * middle of a collection, so it calls nothing of this header and lets no exception out. Managed code may be called that makes no objects:
 * nothing dies in it. Objects that live at the end of the program are not freed. */
void *tally_host_new(void *pointer, void (*free_it)(void *pointer));

/* [leaf] The object and what it reaches never die, and the cycle detector leaves it alone. */
void tally_make_immortal(void *object);

/* Makes all objects that are there immortal [safepoint], and takes it back of all that are [leaf]. */
void tally_freeze(void);
void tally_unfreeze(void);

/* ---- Looking into the heap ------------------------------------------------------------------------------------------ */

/* [leaf] The object's count: under the prompt plan as it is, but for references in registers and roots since the last safepoint;
 * else as of the last flip, where 255 is stuck. 0 for what lies outside the heap range. */
uint64_t tally_count_of(const void *object);

/* [leaf] Returns whether an address, whatever it is, lies in the memory of this thread's objects. */
int32_t tally_is_in_heap(const void *address);

/* What holds an object: another object by one of its fields, or a root. */
typedef struct tally_holder {
    const void *object;         /* the object that holds it; null: a root does */
    const char *type;           /* the name of that object's type, else null */
    const char *name;           /* of the field, as C writes it (next, at[3]), or of the variable; null where it is not known */
    uint64_t offset;            /* of the word in that object; UINT64_MAX of a root, and where a trace function has found it */
    const char *function;       /* of a variable that is a root, its function, … */
    const char *file;           /* … and file … */
    uint32_t line;              /* … and line where it was made a root, where they are known; else null and 0 */
    uint32_t root;              /* TALLY_HELD_BY_… */
} tally_holder;
TALLY__ASSERT(offsetof(tally_holder, name) == 16 && offsetof(tally_holder, offset) == 24, "tally_holder");
TALLY__ASSERT(offsetof(tally_holder, file) == 40 && offsetof(tally_holder, root) == 52, "tally_holder");
TALLY__ASSERT(sizeof(tally_holder) == 56, "tally_holder");

#define TALLY_HELD_BY_OBJECT 0u
#define TALLY_HELD_BY_VARIABLE 1u      /* a root of a frame; without a name a temporary of the compiler */
#define TALLY_HELD_BY_GLOBAL 2u        /* a global variable */
#define TALLY_HELD_BY_HANDLE 3u        /* tally_handle_new */
#define TALLY_HELD_BY_GLOBAL_HANDLE 4u /* tally_global_new */
#define TALLY_HELD_BY_IMMORTALITY 5u   /* it is immortal */
#define TALLY_HELD_BY_FINALIZER 6u     /* its finalizer is to run, or running */
#define TALLY_HELD_BY_HOST 7u          /* another root of the host */
#define TALLY_HELD_BY_STACK 8u         /* it is a stack that runs, or waits for one that runs */

/* [safepoint] Calls `visit` with each step of a shortest path from a root to `object`: the root first, with the object that it holds,
 * then that object with the next that it holds, down to `object`. Returns their number, 0 if no root reaches it. Without `visit` (null)
 * the path is printed on standard error. A reference of an ephemeron counts if its key is reachable. No epoch runs and nothing changes, so
 * bare references stay good; `visit` must not change the heap. The time is that of a mark, the memory about 30 bytes for each
 * reachable object. The texts are there until `visit` returns. */
uint64_t tally_why_alive(const void *object, void (*visit)(const tally_holder *holder, void *held, void *context), void *context);

/* [safepoint] The same with each root that holds `object`, and each reachable object that refers to it. */
uint64_t tally_referrers_of(const void *object, void (*visit)(const tally_holder *holder, void *held, void *context), void *context);

/* [safepoint] Calls `visit`, which may be null, with each reachable object of the type, those nearest to roots first. Returns their
 * number; tally_count_of_type is the number alone. Both change nothing, as above. */
uint64_t tally_objects_of(const tally_type *type, void (*visit)(void *object, void *context), void *context);
uint64_t tally_count_of_type(const tally_type *type);

/* A place in the program's code. */
typedef struct tally_place {
    const char *function; /* "host" of an object that no compiled code has asked for */
    const char *file;     /* null where it is not known */
    uint64_t line;        /* 0 where it is not known */
} tally_place;
TALLY__ASSERT(sizeof(tally_place) == 24 && offsetof(tally_place, line) == 16, "tally_place");

/* The objects of one type that were allocated at one site: estimates, unless every object is recorded. */
typedef struct tally_site_totals {
    const tally_place *places; /* the calls that were running, the innermost first; four at most */
    uint64_t place_count;
    const char *of_type;
    uint64_t live_objects;     /* not known to be dead */
    uint64_t live_bytes;       /* of their cells */
    uint64_t allocated_objects;
    uint64_t allocated_bytes;
} tally_site_totals;
TALLY__ASSERT(sizeof(tally_site_totals) == 56 && offsetof(tally_site_totals, live_objects) == 24, "tally_site_totals");

/* [leaf] Records where this thread's heap allocates objects from now on: of one object for `bytes` on average (131072 is usual), of every
 * object with 1, of none with 0. TALLY_ALLOC_SITES and tally run --alloc-sites do so from the start. */
void tally_record_alloc_sites(uint64_t bytes);

/* [leaf] Calls `visit` with the places where `object` was allocated, the innermost call first. Returns 1, or 0 if that is not recorded.
 * Without `visit` (null) it is said on standard error. The texts are there until `visit` returns. */
int32_t tally_alloc_site(const void *object, void (*visit)(const tally_place *places, uint64_t count, void *context), void *context);

/* [leaf] Calls `visit`, which may be null, for each site and type, those with the most live bytes first. Returns their number. `visit` must
 * not change the heap. */
uint64_t tally_alloc_sites(void (*visit)(const tally_site_totals *totals, void *context), void *context);

/* [leaf] Notes from now on which fields close the cycles that are collected, as the option --log=cycles; 0 = no more, and forgets. */
void tally_log_cycles(int32_t on);

/* [leaf] Calls `visit` with each line of what was noted since, as --log=cycles prints it at exit (docs/use/running.md); without `visit` (null) they are
 * printed on standard error. Returns their number: 0 where nothing was noted. A line is there until `visit` returns. */
uint64_t tally_cycle_report(void (*visit)(const char *line, void *context), void *context);

/* Bucket n counts the values from 2^n up to 2^(n+1) exclusive; the first also 0. */
#define TALLY_BUCKETS 48

/* Totals of the thread's heap, in bytes and nanoseconds; docs/use/running.md says what each means. They are exact in hosts, and in programs
 * with a module that calls tally_get_statistics. Where only native code of a program calls it, the deferred plan counts allocations
 * from the first call on, unless TALLY_STATS, TALLY_LEAK_CHECK or TALLY_ZEAL has them counted from the start. */
typedef struct tally_statistics {
    uint64_t epochs;
    uint64_t pause_ns_max, pause_ns_total;
    uint64_t slices;
    uint64_t allocated_objects, allocated_bytes;
    uint64_t promoted_objects;
    uint64_t freed_mature_objects, died_young_objects;
    uint64_t live_objects, live_bytes;
    uint64_t candidates, trial_runs, trial_edges;
    uint64_t cyclic_garbage_objects;
    uint64_t marks, marks_aborted;
    uint64_t frames_walked, roots_walked;
    uint64_t log_entries, blocks_logged;
    uint64_t used_bytes, external_bytes;
    uint64_t pauses;
    uint64_t pause_histogram[TALLY_BUCKETS]; /* of the pauses, by nanoseconds */
    uint64_t size_histogram[TALLY_BUCKETS];  /* of the allocated objects, by bytes of their cells */
    uint64_t trial_ns, mark_ns;
    uint64_t mark_units, slice_units_max, frames_at_once_max;
    /* The least part of any 5, 20 and 100 ms that the program had for itself, in thousandths. */
    uint64_t utilisation_5ms_min, utilisation_20ms_min, utilisation_100ms_min;
    uint64_t freed_objects;
} tally_statistics;

/* [leaf] Returns the current counters in `into`. */
void tally_get_statistics(tally_statistics *into);

/* [safepoint] Calls visit(object, name of its type, bytes of its cell, context) with every object that is not known to be dead, once,
 * in any order. `visit` calls no function of this header and writes no reference, and no exception may escape it; the name is valid
 * during the call. After tally_collect these are the reachable objects. */
void tally_for_each_object(void (*visit)(void *object, const char *type, uint64_t bytes, void *context), void *context);

/* [safepoint] Collects, and calls visit(name of a type, objects, bytes of their cells, context) for each type with objects left;
 * a null `visit` prints the list on standard error, with the holders, as the leak check does. Returns the number of objects. */
uint64_t tally_leak_report(void (*visit)(const char *type, uint64_t objects, uint64_t bytes, void *context), void *context);

/* [leaf] Reads the TALLY_* variables now; a wrong value ends the process with status 2. Without it the first allocation of a thread
 * reads them, which makes the thread's heap. Calling it again does no harm. docs/port/embedding.md */
void tally_init(void);

/* Called with the message before a violation ends the process with status 5 (zeal, a wrong write, a broken invariant), while all frames
 * are still there. It does nothing: set a debugger's breakpoint here. docs/use/troubleshooting.md */
void tally_zeal_violation(const char *message);

/* Runs `main` on a heap made from the TALLY_* variables; returns the process's exit status. The lowering puts a call of it into
 * the program's main; a program has no reason to call it. Inside a program that runs already it just calls `main`. */
int32_t tally_run_main(int32_t (*main)(int32_t, char **), int32_t argc, char **argv);

/* ---- Weak references, ephemerons, weak maps ---------------------------------------------------------------------------
 * docs/use/services.md. These functions return references like those loaded from fields: valid until the next safepoint; store one to
 * a root to use it longer. A target, key or value may lie outside the heap: it never dies. (Not the key of tally_ephemeron_new: what
 * lives as long as such a key is kept by a global root.) */

/* [safepoint] A weak reference: an object that refers to `target` and does not keep it alive. */
void *tally_weak_new(void *target);

/* [safepoint] The same with a callback. It is called with the weak reference once that was cleared, if the weak reference is alive then,
 * as ordinary code of the program, at a safepoint. The callback of one that dies together with its target is never called; of one that
 * an object with a finalizer holds it may be, before that object has gone. */
void *tally_weak_new_with(void *target, void (*callback)(void *weak));

/* [leaf] The target of a weak reference, or of a weak slot (its address); null once the target's reclaim has begun: before its
 * finalizer runs. The word in the slot may be cleared later: do not test the word. */
void *tally_weak_get(const void *weak_or_slot);

/* [leaf] The same of a target that the program has read from a weak slot by itself, with no safepoint since: for tagged words. */
void *tally_weak_upgrade(void *target);

/* [leaf] Lets `slot`, an aligned word of `object` that its descriptor does not name, refer to `target` without keeping it alive. Null ends that,
 * not a plain store of null.
 * A tagged word is stored over it afterwards, plainly. */
void tally_weak_write(void *object, void *slot, void *target);

/* [leaf] Weak slots in objects of `type` are cleared by `clear` from now on, which stores to the slot, has no roots and calls nothing of Tally,
 * in place of null: for tagged words in which 0 means something else. */
void tally_type_on_clear(const tally_type *type, void (*clear)(void *holder, void *slot));

/* [safepoint] An ephemeron: it keeps `value` alive as long as `key` and itself are, and `key` not at all. */
void *tally_ephemeron_new(void *key, void *value);

/* [leaf] Its value, its key: null when the key is dead. */
void *tally_ephemeron_get(const void *ephemeron);
void *tally_ephemeron_key(const void *ephemeron);

/* [leaf] The same as tally_weak_write for the key of an object of a type with TALLY_EPHEMERON. When the key's memory goes (after its
 * finalizer), null is written to all references of the object. Code that reads them holds the key, or has asked tally_weak_get(slot) for it. */
void tally_ephemeron_key_write(void *object, void *slot, void *key);

/* A weak map from objects to objects, by identity. With weak keys an entry lives as long as its key, whatever its value leads to; with weak
 * values as long as its value; with both as long as both. */
#define TALLY_WEAK_KEYS 1u
#define TALLY_WEAK_VALUES 2u

/* [safepoint] A new map; `mode` is one of the above, or both. */
void *tally_weak_map_new(uint32_t mode);

/* [leaf] Returns the map's value for `key`, or null. */
void *tally_weak_map_get(void *map, void *key);

/* [safepoint] Sets the value of `key`, which is not null; a null value removes the entry. */
void tally_weak_map_set(void *map, void *key, void *value);

/* [leaf] Removes the entry of `key`; not 0: there was one. */
int32_t tally_weak_map_remove(void *map, void *key);

/* [leaf] Number of entries. */
uint64_t tally_weak_map_count(void *map);

/* [leaf] for (uint64_t at = 0; (at = tally_weak_map_next(map, at));) … key_at(map, at), value_at(map, at) … : each entry once. Entries
 * may go meanwhile, then both are null; an insertion may change all positions. */
uint64_t tally_weak_map_next(void *map, uint64_t position);
void *tally_weak_map_key_at(void *map, uint64_t position);
void *tally_weak_map_value_at(void *map, uint64_t position);

/* [leaf] The position of the entry of `key`, to go on behind it; 0: it has none. Nor has one that was removed. */
uint64_t tally_weak_map_find(void *map, void *key);

/* Weak sets find objects by a hash and keep none of them alive: interned strings, objects that are made once for each content. A member has
 * its hash in 32 bits of its own, written before it is added and not changed while it is a member. It goes when its reclaim begins,
 * before its finalizer runs. An object is in one weak set at a time; a heap has at most 4095.
 *
 *     uint64_t at = 0;
 *     Text *text;
 *     while ((text = tally_weak_set_probe(texts, hash, &at)))
 *         if (text->length == length && !memcmp(text->at, bytes, length)) return text;
 *     … make it, with its hash …
 *     tally_weak_set_add(texts, text); */

/* [safepoint] A new weak set: an object. Its members have their hash at `hash_offset`, a multiple of 4. */
void *tally_weak_set_new(uint32_t hash_offset);

/* [safepoint] Adds an object; one that is a member stays. An object of another weak set, or that is too small for a hash, ends the program with
 * status 2. */
void tally_weak_set_add(void *set, void *member);

/* [leaf] The next member that may have this hash, valid until the next safepoint: nearly always the one that has it. `*at` is 0 before
 * the first. Null: there are no more. */
void *tally_weak_set_probe(void *set, uint32_t hash, uint64_t *at);

/* [leaf] Removes an object; not 0: it was a member. */
int32_t tally_weak_set_remove(void *set, void *member);

/* [leaf] Number of members, with those that are dead and not found yet. */
uint64_t tally_weak_set_count(void *set);

/* [leaf] uint64_t at = 0; while ((member = tally_weak_set_next(set, &at))) … : each member once. Members may go meanwhile; an addition may change
 * all positions. */
void *tally_weak_set_next(void *set, uint64_t *position);

/* ---- Native code without unwind tables -------------------------------------------------------------------------------
 * Between managed frames, native code must have unwind tables, or say where it left managed code, and call back through
 * tally_call_managed:
 *
 *     long each(table *t, void *closure) {          called by managed code
 *         TALLY_ANCHOR(here);
 *         … tally_call_managed(&here, visit_entry, &arguments) …      in this function, or in one that it calls
 *     }
 */

/* The registers of the managed caller of a function, in a variable of that function. */
typedef struct tally_anchor {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
} tally_anchor;

/* Declares an anchor. Stands in the function that managed code called itself; the compiler must not inline that (it cannot, unless
 * native code calls it as well). */
#define TALLY_ANCHOR(name)                                                                                             \
    const tally_anchor name = {(uint64_t)__builtin_return_address(0), (uint64_t)TALLY__CALLERS_SP(),                   \
                               *TALLY__SAVED_FP()}
#if defined(__aarch64__) && defined(__clang__)
#define TALLY__CALLERS_SP() __builtin_sponentry() /* clang's __builtin_dwarf_cfa is the frame pointer there */
#else
#define TALLY__CALLERS_SP() __builtin_dwarf_cfa()
#endif
#ifdef __riscv
#define TALLY__SAVED_FP() ((const uint64_t *)__builtin_frame_address(0) - 2)
#else
#define TALLY__SAVED_FP() ((const uint64_t *)__builtin_frame_address(0))
#endif

/* [safepoint] function(argument). When the stack is walked meanwhile, the frames between here and the anchor are left out. A null
 * anchor says that no managed frame lies below. `function` is managed, or one of Tally's. Exceptions and longjmp pass. */
void *tally_call_managed(const tally_anchor *anchor, void *(*function)(void *), void *argument);

/* ---- Coroutines: stacks that the program switches between -------------------------------------------------------------
 * A stack is an object. What its frames hold while it is stopped is held by that object: a stopped stack to which nothing refers dies,
 * and so does a cycle through it. docs/use/coroutines.md has examples and limits.
 *
 * The stacks that wait form a chain: each has switched to the next, the last one runs, and the first is the thread's own.
 */
#define TALLY_STACK_SUSPENDED 0 /* new, or stopped in tally_stack_switch; no stack that runs or waits goes back to it by itself */
#define TALLY_STACK_RUNNING 1
#define TALLY_STACK_WAITING 2 /* stopped in a switch to the next in the chain */
#define TALLY_STACK_FINISHED 3 /* entry has returned, or the stack was closed */

/* [safepoint] A new stack of `bytes` bytes at least (0: 256 KiB with a guard), of which only those are committed that are touched. The
 * first switch to it calls entry(value) on it. `entry` is managed code, and no exception leaves it. Null: there is no memory,
 * or no room in a heap with a limit. */
void *tally_stack_new(void *(*entry)(void *value), uint64_t bytes);

/* [safepoint] Stops this stack and lets `to` go on, whose call of tally_stack_switch returns `value`: a reference that is valid until
 * its next safepoint, or any word that is none. Returns the value of the switch, or the result of the entry function, by which the
 * program comes back. If `to` is suspended, this stack waits for it. If `to` waits, this stack is suspended, with those between the
 * two in the chain. Null is the stack that waits for this one. Not in finalizers, callbacks, or functions that the runtime calls. */
void *tally_stack_switch(void *to, void *value);

/* [safepoint] The stack that runs; the thread's own becomes an object when it is first needed. */
void *tally_stack_current(void);

/* [leaf] One of TALLY_STACK_…. */
int32_t tally_stack_status(void *stack);

/* [leaf] Lets go of what a suspended stack's frames hold. They never run again: no cleanup of theirs is run. A stack that has finished
 * stays as it is. */
void tally_stack_close(void *stack);

/* [leaf] Sets whether the runtime reports stack overflows. By default its handler of SIGSEGV does, unless there was another when the
 * first heap was made. 1: install the handler in front of an existing one, which gets the signal next. 0: remove the handler, and
 * install none later. */
void tally_report_overflows(int32_t on);

/* ---- LLVM's own runtime interface -----------------------------------------------------------------------------------
 * For code that was written against the functions that LLVM's documentation recommends to collectors. */

/* [leaf] Makes the thread's heap; the first allocation does it as well. Heaps grow as they need: the size is not used. */
void llvm_gc_initialize(uint32_t initial_heap_size);

/* [safepoint] A zeroed object of `size` bytes without a descriptor: each of its words that holds an address in the heap range is
 * a reference to an object. It may hold anything else but integers of that range (2^45 to 2^45 + 2^40). */
void *llvm_gc_allocate(uint32_t size);

/* [safepoint] The same as tally_collect. */
void llvm_gc_collect(void);

/* [safepoint] Calls `visit` with each root slot on the calling thread's stack that matters to its function, and with the second
 * argument of its llvm.gcroot: a descriptor, or null. The walk is over before the first call: `visit` may do anything. */
void llvm_cg_walk_gcroots(void (*visit)(void **root, void *meta));

/* One root of one frame of the calling thread's stack. */
typedef struct tally_stack_root {
    void **slot;                 /* the word in the frame, or the first of those that `meta` describes */
    const void *meta;            /* the second argument of its llvm.gcroot, or null */
    const char *name, *function; /* of the variable and its function, in code that Tally compiled; else null */
    const void *return_address;  /* of the call that the frame is stopped in; null for roots of llvm_gc_root_chain */
    const void *stack_pointer;   /* of the frame at that call: equal for the roots of one frame */
} tally_stack_root;
TALLY__ASSERT(offsetof(tally_stack_root, meta) == 8 && offsetof(tally_stack_root, name) == 16, "tally_stack_root");
TALLY__ASSERT(offsetof(tally_stack_root, return_address) == 32, "tally_stack_root");
TALLY__ASSERT(sizeof(tally_stack_root) == 48, "tally_stack_root");

/* [safepoint] Calls `visit` with each root of each frame on the calling thread's stack, innermost first, for a collector of your
 * own. As with llvm_cg_walk_gcroots, roots that do not matter at their call are left out, and the walk is over before the first
 * call. The struct and its texts are there until `visit` returns. */
void tally_walk_roots(void (*visit)(const tally_stack_root *root, void *data), void *data);

/* [leaf] Trace plan: objects that llvm_gc_allocate makes on this thread from now on are read by `callback`, and not word by word. Roots
 * say what they are: the second argument of llvm.gcroot may be the address of anything (a tally_type apart, which describes the root
 * itself), and comes to the callback with a slot that refers to an object. The callback calls `visit` with each reference
 * in that object, and with what describes its target. A reference that is no plain word is decoded to a variable of the callback,
 * whose address is passed. `visit` returns at once, so there is no recursion, and passes over what lies outside the heap.
 *   An object with several descriptions is read by each. If none leads to it (but a handle, a root without one, `visit` with null), it
 * is read by its last one; if it never had one, word by word. Objects of tally_new are read by their types. The callback allocates nothing, calls no safepoint, and may be
 * called again for the same object. A second call replaces the callback. Under another plan this ends the process with status 2. */
typedef void (*tally_visit_slot)(void **slot, const void *meta);
typedef void (*tally_trace_callback)(void **slot, const void *meta, tally_visit_slot visit);
void tally_trace_with(tally_trace_callback callback);

/* The frames' roots of code that LLVM's own strategy "shadow-stack" compiled, which follow each entry; they are roots like any
 * others while the chain lies on the thread's stack. Such code stores plainly in place of llvm.gcwrite and so writes references with tally_fill_refs. */
typedef struct tally_shadow_entry {
    struct tally_shadow_entry *next;
    const void *map;
} tally_shadow_entry;
extern tally_shadow_entry *llvm_gc_root_chain;

/* ---- Frames of code that other tools compiled -----------------------------------------------------------------------
 * For hosts that link by themselves what stock llc or clang made of a module with one of LLVM's own strategies. `tally build` does
 * all this for the objects that it is given. Nothing counts the references of such code: it runs on the trace plan. */

/* tally_frames.kind: the table in which LLVM describes the roots. */
#define TALLY_FRAMES_STATEPOINTS 1u   /* statepoint-example, coreclr: the section .llvm_stackmaps, from `begin` to `end` */
#define TALLY_FRAMES_OCAML 2u         /* ocaml: `begin` is the symbol caml<Module>__frametable */
#define TALLY_FRAMES_ERLANG 3u        /* erlang: the section .note.gc of the file that this record was loaded from */
#define TALLY_FRAMES_SHADOW_STACK 4u  /* shadow-stack: the roots are in llvm_gc_root_chain; this says that the plan is trace */

typedef struct tally_frames {
    uint32_t version;                    /* TALLY_FRAMES_VERSION */
    uint32_t kind;                       /* TALLY_FRAMES_… */
    const char *name;                    /* of the code, for messages; or null */
    const void *begin, *end;             /* the table; null where the kind does not need it */
} tally_frames;
TALLY__ASSERT(offsetof(tally_frames, kind) == 4 && offsetof(tally_frames, name) == 8, "tally_frames");
TALLY__ASSERT(offsetof(tally_frames, begin) == 16 && offsetof(tally_frames, end) == 24, "tally_frames");
TALLY__ASSERT(sizeof(tally_frames) == 32, "tally_frames");

#define TALLY_FRAMES_VERSION 1u

/* [leaf] The roots of this code are roots from now on, until it is unregistered: before the code goes away. Call it before the
 * code runs. A table that cannot be read ends the process with status 2. */
void tally_register_frames(const tally_frames *frames);
void tally_unregister_frames(const tally_frames *frames);

/* ---- What lowered code emits and calls by itself ---------------------------------------------------------------------
 * For frontends that lower on their own, and for reading lowered IR. */

/* Where inline allocation finds the header word of its type. The runtime fills in meta and cell at registration. */
typedef struct tally_type_handle {
    const tally_type *descriptor;
    uint32_t meta; /* second header word of a fresh object: type id, in the prompt plan with flags in the top byte */
    uint32_t cell; /* bytes of a cell without tail: header, fixed part, padding */
} tally_type_handle;

/* A slot outside the heap that holds references: a global variable. */
typedef struct tally_global_root {
    void *slot;
    const tally_type *how; /* null: one plain reference */
    const char *name;
} tally_global_root;

/* A stack root by the id that the stack map gives it. */
typedef struct tally_root_info {
    uint64_t id; /* not 0 */
    const tally_type *how; /* null: one plain reference */
    const char *name;
    const char *function;
} tally_root_info;

/* One module (symbol `tally.module`). */
typedef struct tally_module {
    uint32_t version; /* TALLY_MODULE_VERSION */
    uint32_t flags;   /* TALLY_MODULE_… */
    const char *name;
    const void *stack_maps;   /* this object's tally_stackmaps or .llvm_stackmaps, or null */
    uint64_t stack_maps_size; /* of that section; 0 = not known */
    uint64_t type_count;
    tally_type_handle *types;
    uint64_t global_count;
    const tally_global_root *globals;
    uint64_t root_count;
    const tally_root_info *roots; /* in the order of their ids */
    const char *names; /* null, or names for reports, a line each: `Node 0 next 8 value` for the fields of a type, and `@ID LINE FILE` for a root */
} tally_module;

#define TALLY_MODULE_VERSION 3u

/* tally_module.flags: the module's code is of the prompt plan. All modules of a process are of one plan. */
#define TALLY_MODULE_PROMPT 1u
/* Bit 0 of the ids of its roots says that others may write to them. */
#define TALLY_MODULE_LENDS 2u
/* The module calls tally_get_statistics: heaps count allocations from their start. */
#define TALLY_MODULE_COUNTS 4u
/* It is of the trace plan. */
#define TALLY_MODULE_TRACE 8u
/* Its stack maps are those of statepoints. With TALLY_MODULE_TRACE. */
#define TALLY_MODULE_STATEPOINTS 16u
/* Bit 1 of the id of a root says that `how` is no descriptor, but for the callback of tally_trace_with. With TALLY_MODULE_TRACE. */
#define TALLY_MODULE_METADATA 32u
/* It writes references into objects with the barrier, so that collections may go in slices. With TALLY_MODULE_TRACE. */
#define TALLY_MODULE_BARRIERS 64u

/* [leaf] From the module's constructor and destructor. A wrong descriptor ends the process with status 2 and its name. The first
 * registers a module of any plan, and the executable has the collectors of all; the others those of one plan, and it has that one's. */
void tally_register_module(tally_module *module);
void tally_register_deferred(tally_module *module);
void tally_register_prompt(tally_module *module);
void tally_register_trace(tally_module *module);
void tally_unregister_module(tally_module *module);

/* [safepoint] Slow paths of inline allocation and of the inline poll. */
void *tally_new_slow(tally_type_handle *type);
void *tally_new_array_slow(tally_type_handle *type, uint64_t n);
void tally_safepoint_slow(void);

/* [leaf] Slow path of the write barrier: logs the object before its first overwrite of the epoch. Called with LLVM's calling
 * convention preserve_mostcc: it keeps the general registers but r11, and C cannot call it by this declaration. */
void tally_log_slow(void *object, void *slot);

/* ---- The prompt plan -------------------------------------------------------------------------------------------------
 * Code of gc "refcount-prompt". The header is a u32 count at -8 and the meta word at -4. Roots, fields and globals are counted;
 * an object whose count reaches zero dies at the next drain. A fresh object of the functions named _owned and of the slow paths
 * has count 1, which the caller owns; one of tally_new or tally_new_array has 0, and lives until the next drain. */

/* [safepoint] tally_new and tally_new_array; the caller owns the result. */
void *tally_new_owned(const tally_type *type);
void *tally_new_array_owned(const tally_type *type, uint64_t n);

/* [safepoint] Objects at zero die: the destructor runs, then the fields are released in order, and an object that this brings to zero dies
 * the same way before the next field is released. Objects that one of the n words leads to are kept until the next drain. Called when
 * `pending` of the context is not 0. */
void tally_drain(const uint64_t *words, uint64_t n);

/* [leaf] Cold paths of inline counting, convention preserve_mostcc. The byte of an object's count lies at (object >> 4) +
 * 0x2f0000000000: bits 0 to 6 are the low part of the count, bit 7 says that a decrement has nothing to note. tally_count_low: a
 * decrement has left a byte of at most 0x80. tally_count_full: an increment has left the low part at 0. */
void tally_count_low(void *object);
void tally_count_full(void *object);

/* [leaf] Writes whose counts are put off note the word written and the word that it replaces at `postponed_top` of the context, and
 * move that on; where it is `postponed_end` they call tally_postpone instead (convention preserve_mostcc). tally_apply_postponed
 * stands before the next safepoint: counts are changed as noted. */
void tally_postpone(uint64_t written, uint64_t replaced);
void tally_apply_postponed(void);

/* [leaf] A whole increment, a whole decrement. A word that is no reference into the heap is ignored. */
void tally_increment(uint64_t word);
void tally_decrement(uint64_t word);

/* [leaf] Settles a root of complex shape after a store: increments the references in `slot`, by the type of `how`, a handle of the module's
 * table (null: each word is a reference), decrements those in `shadow`, its last value, and copies `slot` to `shadow`. A null
 * slot only releases. Roots of one word are counted by inline code. */
void tally_root_settle(const void *slot, void *shadow, const tally_type_handle *how, uint64_t bytes);

#define TALLY_FREE_LISTS 86

/* The thread's context (thread-local, initial-exec). Only these fields are for compiled code. */
typedef struct tally_context_view {
    char *cursor;   /* where the header of the next cell goes */
    char *limit;    /* end of the hole; 0 sends every allocation to the slow path */
    uint32_t stamp; /* the running epoch: first header word of a fresh object */
    uint32_t poll;  /* not 0: a safepoint has work */
    uint64_t reserved[6];
    uint64_t pending; /* prompt plan: not 0: tally_drain has work */
    uint64_t reserved_2[3];
    uint64_t (*postponed_top)[2]; /* prompt plan: where the next write that is put off is noted */
    uint64_t (*postponed_end)[2]; /* end of the room for such */
    uint64_t reserved_3;
    void *free[TALLY_FREE_LISTS]; /* prompt plan, by size class: the payload of the first free cell, or null; its first word is the next */
    tally_handle *handle_top; /* where the next scoped handle goes … */
    tally_handle *handle_end; /* … if it is below this */
} tally_context_view;

/* The heap's address range and its table of unlogged bits, one per 16 bytes: before a slot whose bit is set is written to, its
 * object must be logged. The slot's u32 word stands at ((slot >> 9) << 2) + TALLY_UNLOGGED_BIAS, its bit is (slot >> 4) & 31. */
#ifdef __aarch64__
#define TALLY_HEAP_BASE 0x2000000000u
#define TALLY_UNLOGGED_BASE 0x4500000000u
#elif defined(__riscv)
#define TALLY_HEAP_BASE 0x1000000000u
#define TALLY_UNLOGGED_BASE 0x2280000000u
#else
#define TALLY_HEAP_BASE 0x200000000000u
#define TALLY_UNLOGGED_BASE 0x300000000000u
#endif
#define TALLY_UNLOGGED_BIAS (TALLY_UNLOGGED_BASE - (TALLY_HEAP_BASE >> 7))

/* ---- Layout --------------------------------------------------------------------------------------------------------- */

#define TALLY__AT(type, field, offset) TALLY__ASSERT(offsetof(type, field) == (offset), #type "." #field " is misplaced")
#define TALLY__SIZE(type, size) TALLY__ASSERT(sizeof(type) == (size), #type " has the wrong size")

TALLY__AT(tally_type, version, 0);
TALLY__AT(tally_type, flags, 4);
TALLY__AT(tally_type, size, 8);
TALLY__AT(tally_type, align, 16);
TALLY__AT(tally_type, slot_kind, 20);
TALLY__AT(tally_type, tag_mask, 24);
TALLY__AT(tally_type, tag_pattern, 32);
TALLY__AT(tally_type, pointer_mask, 40);
TALLY__AT(tally_type, ref_count, 48);
TALLY__AT(tally_type, element_ref_count, 52);
TALLY__AT(tally_type, ref_offsets, 56);
TALLY__AT(tally_type, length_offset, 64);
TALLY__AT(tally_type, stride, 72);
TALLY__AT(tally_type, element_ref_offsets, 80);
TALLY__AT(tally_type, name, 88);
TALLY__AT(tally_type, finalize, 96);
TALLY__AT(tally_type, trace, 104);
TALLY__AT(tally_type, ref_types, 112);
TALLY__AT(tally_type, element_ref_types, 120);
TALLY__SIZE(tally_type, 128);

TALLY__AT(tally_type_handle, meta, 8);
TALLY__AT(tally_type_handle, cell, 12);
TALLY__SIZE(tally_type_handle, 16);
TALLY__AT(tally_global_root, how, 8);
TALLY__AT(tally_global_root, name, 16);
TALLY__SIZE(tally_global_root, 24);
TALLY__AT(tally_root_info, how, 8);
TALLY__AT(tally_root_info, name, 16);
TALLY__AT(tally_root_info, function, 24);
TALLY__SIZE(tally_root_info, 32);
TALLY__AT(tally_module, name, 8);
TALLY__AT(tally_module, stack_maps, 16);
TALLY__AT(tally_module, stack_maps_size, 24);
TALLY__AT(tally_module, type_count, 32);
TALLY__AT(tally_module, types, 40);
TALLY__AT(tally_module, global_count, 48);
TALLY__AT(tally_module, globals, 56);
TALLY__AT(tally_module, root_count, 64);
TALLY__AT(tally_module, roots, 72);
TALLY__AT(tally_module, names, 80);
TALLY__SIZE(tally_module, 88);
TALLY__AT(tally_statistics, pause_ns_max, 8);
TALLY__AT(tally_statistics, allocated_objects, 32);
TALLY__AT(tally_statistics, freed_mature_objects, 56);
TALLY__AT(tally_statistics, live_objects, 72);
TALLY__AT(tally_statistics, marks, 120);
TALLY__AT(tally_statistics, blocks_logged, 160);
TALLY__AT(tally_statistics, used_bytes, 168);
TALLY__AT(tally_statistics, pause_histogram, 192);
TALLY__AT(tally_statistics, utilisation_5ms_min, 192 + 16 * TALLY_BUCKETS + 40);
TALLY__SIZE(tally_statistics, 192 + 16 * TALLY_BUCKETS + 72);
TALLY__AT(tally_context_view, limit, 8);
TALLY__AT(tally_context_view, stamp, 16);
TALLY__AT(tally_context_view, poll, 20);
TALLY__AT(tally_context_view, pending, 72);
TALLY__AT(tally_context_view, postponed_top, 104);
TALLY__AT(tally_context_view, postponed_end, 112);
TALLY__AT(tally_context_view, free, 128);
TALLY__AT(tally_context_view, handle_top, 816);
TALLY__SIZE(tally_context_view, 832);

#ifdef __cplusplus
}
#endif

#endif
