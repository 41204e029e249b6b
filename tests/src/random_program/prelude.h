/* The part that all random programs share: types of every kind, and reading of objects without a call.
 *
 * Every object begins with a tag, its kind and a serial number; SEE mixes it into the checksum, so a lost or overwritten object
 * changes what the program prints. Addresses never enter the checksum. IS_X(v) says that v refers to an X (with elements, if it is
 * an array); AT(X, v, n) is an index into it. A program may be several modules (MODULES): each is this text with its number
 * as MODULE. DESTRUCTORS says that there are some. RAISES: what may be thrown, through any number of frames and up to the last
 * `attempt` (`attempt.ll`, beside the modules). AUDIT: roots are listed a second time, by the program, and the walk must find them. */
#pragma clang diagnostic ignored "-Weverything"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Any { long tag; } Any;
typedef uint64_t Low;
typedef uint64_t Nan;
TALLY_TAGGED_TYPE(Low, 1, 0, ~UINT64_C(1));
TALLY_TAGGED_TYPE(Nan, UINT64_C(0xffff000000000000), UINT64_C(0xfffc000000000000), UINT64_C(0x0000ffffffffffff));

typedef struct Leaf { long tag, x; } Leaf;
TALLY_ACYCLIC_TYPE(Leaf);
typedef struct Pair { long tag; Any *a, *b; long x; } Pair;
#if MODULES == 1
TALLY_TYPE(Pair, a, b);
#elif MODULE == 0
TALLY_SHARED_TYPE(Pair, a, b);
#else
TALLY_EXTERN_TYPE(Pair);
#endif
typedef struct Node { long tag; Any *left; long x; Any *right; struct { long y; Any *more[2]; } inner; } Node;
TALLY_TYPE(Node, left, right, inner.more[0], inner.more[1]);
typedef struct Row { long tag; uint64_t length; Any *at[]; } Row;
TALLY_ARRAY_TYPE(Row, length, at);
typedef struct Entry { Any *key; long n; Any *value; } Entry;
typedef struct Table { long tag; Any *owner; uint64_t length; Entry at[]; } Table;
TALLY_STRUCT_ARRAY_TYPE(Table, length, at, (key, value), owner);
typedef struct Bytes { long tag; uint64_t length; Any *owner; unsigned char at[]; } Bytes;
TALLY_DATA_ARRAY_TYPE(Bytes, length, at, owner);
typedef struct Cell { long tag; Low head, tail; long x; } Cell;
TALLY_TYPE_TAGGED(Cell, Low, head, tail);
typedef struct Vec { long tag; Nan first; uint64_t length; Nan at[]; } Vec;
TALLY_ARRAY_TYPE_TAGGED(Vec, Nan, length, at, first);
typedef struct Big { long tag; Any *f[10]; long x; long pad[1200]; Any *last; } Big;
TALLY_TYPE(Big, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], last);
typedef struct Wide { _Alignas(64) long tag; Any *a; long x; Any *b; } Wide;
TALLY_TYPE(Wide, a, b);

/* Types with destructors, under the plan that has them. What is born and what was buried must be the same in the end. */
#ifdef DESTRUCTORS
#define ARE_BURIED 1
#define FINALIZED_TYPE TALLY_FINALIZED_TYPE
#define FINALIZED_ARRAY_TYPE TALLY_FINALIZED_ARRAY_TYPE
#else
#define ARE_BURIED 0
#define FINALIZED_TYPE(Type, finalize, ...) TALLY_TYPE(Type __VA_OPT__(,) __VA_ARGS__)
#define FINALIZED_ARRAY_TYPE(Type, finalize, length, ...) TALLY_ARRAY_TYPE(Type, length, __VA_ARGS__)
#endif
typedef struct Guard { long tag; Any *held; long x; } Guard;
typedef struct Maker { long tag; Any *made; long x; Any *other; } Maker;
typedef struct Shelf { long tag; uint64_t length; Any *at[]; } Shelf;
static void guard_dies(Guard *);
static void maker_dies(Maker *);
static void shelf_dies(Shelf *);
FINALIZED_TYPE(Guard, guard_dies, held);
FINALIZED_TYPE(Maker, maker_dies, made, other);
FINALIZED_ARRAY_TYPE(Shelf, shelf_dies, length, at);

/* Structs that live on the stack. */
typedef struct Few { Any *r[4]; } Few;
TALLY_TYPE(Few, r[0], r[1], r[2], r[3]);
typedef struct Two { Any *a; long n; } Two;
TALLY_TYPE(Two, a);
typedef struct Three { Any *a, *b; long n; } Three;
TALLY_TYPE(Three, a, b);
typedef long Long4 __attribute__((vector_size(32)));
typedef union Either { long n; Any *r; } Either;

enum { K_Leaf, K_Pair, K_Node, K_Row, K_Table, K_Bytes, K_Cell, K_Vec, K_Big, K_Wide, K_Guard, K_Maker, K_Shelf };
#define KIND(v) (((Any *)(v))->tag & 15)
#define IS_Leaf(v) ((v) && KIND(v) == K_Leaf)
#define IS_Pair(v) ((v) && KIND(v) == K_Pair)
#define IS_Node(v) ((v) && KIND(v) == K_Node)
#define IS_Row(v) ((v) && KIND(v) == K_Row && ((Row *)(v))->length)
#define IS_Table(v) ((v) && KIND(v) == K_Table && ((Table *)(v))->length)
#define IS_Bytes(v) ((v) && KIND(v) == K_Bytes && ((Bytes *)(v))->length)
#define IS_Cell(v) ((v) && KIND(v) == K_Cell)
#define IS_Vec(v) ((v) && KIND(v) == K_Vec && ((Vec *)(v))->length)
#define IS_Big(v) ((v) && KIND(v) == K_Big)
#define IS_Wide(v) ((v) && KIND(v) == K_Wide)
#define IS_Guard(v) ((v) && KIND(v) == K_Guard)
#define IS_Maker(v) ((v) && KIND(v) == K_Maker)
#define IS_Shelf(v) ((v) && KIND(v) == K_Shelf && ((Shelf *)(v))->length)
#define AT(Type, v, n) ((uint64_t)(n) % ((Type *)(v))->length)

#if MODULES == 1
#define SHARED static
#elif MODULE == 0
#define SHARED
#else
#define SHARED extern
#endif
SHARED unsigned long sum, dice, born, buried;
SHARED long serial, fuel, births, burials;
#define MIX(n) (sum = (sum ^ (unsigned long)(n)) * 0x9E3779B97F4A7C15u, sum ^= sum >> 29)
#define SEE(v) MIX((v) ? ((Any *)(v))->tag : 7)
#define ROLL(k) (dice = dice * 6364136223846793005u + 1442695040888963407u, (long)((dice >> 33) % (k)))
#define TAG(Type) (K_##Type | ++serial << 4)

/* A second opinion of where roots are: a list of their addresses, against which the walk is held. A function's entries go when it returns,
 * or when an exception is stopped above it; what calls nothing, since the result may be in no root by then. */
#if AUDIT && !defined(WITHOUT_TALLY)
enum { SLOTS = 1 << 16 };
SHARED void **slots[SLOTS];
SHARED long slots_end, slots_found;
#define ENTER long slots_before = slots_end
#define LEAVE (slots_end = slots_before)
#define LIST(unused, variable)                                                                                                         \
    {                                                                                                                                  \
        long known_ = slots_before;                                                                                                    \
        while (known_ < slots_end && slots[known_] != (void **)&variable) known_++;                                                    \
        if (known_ < SLOTS) slots[known_] = (void **)&variable, slots_end += known_ == slots_end;                                      \
    }
#undef TALLY_ROOT
#define TALLY_ROOT(...) do { TALLY__EACH(TALLY__ROOT, , __VA_ARGS__) TALLY__EACH(LIST, , __VA_ARGS__) } while (0)
/* The entries by address, written anew by each audit: a deep stack has thousands of roots, and the walk visits each. */
enum { PLACES = 2 * SLOTS };
static struct { void **slot; long entries, audit; } places[PLACES];
static long audits;
static long place_of(void **slot) {
    long i = ((unsigned long)slot * 0x9E3779B97F4A7C15u >> 32) % PLACES;
    while (places[i].audit == audits && places[i].slot != slot) i = (i + 1) % PLACES;
    return i;
}
static void find(void **root, void *meta) {
    long i = place_of(root);
    if (places[i].audit == audits) slots_found += places[i].entries;
}
static __attribute__((noinline)) void audit(void) {
    long held = 0;
    slots_found = 0;
    audits++;
    for (long i = 0; i < slots_end; i++) {
        long at = place_of(slots[i]);
        if (places[at].audit != audits) places[at].slot = slots[i], places[at].entries = 0, places[at].audit = audits;
        places[at].entries++;
        held += *slots[i] != NULL;
    }
    llvm_cg_walk_gcroots(find);
    if (slots_found < held || slots_found > slots_end) {
        fprintf(stderr, "of %ld roots that hold something the walk finds %ld\n", held, slots_found);
        abort();
    }
}
#else
SHARED long slots_end;
#define ENTER
#define LEAVE
#define audit() ((void)0)
#endif

/* Exceptions as the unwinder knows them: no C++ is needed. */
#if RAISES
#include <unwind.h>
SHARED int attempts;
long attempt(long (*measure)(Any *, Any *, long, int), Any *p, Any *q, long n, int depth);
static _Unwind_Reason_Code go_on(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                 struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *unused) {
    if (actions & _UA_END_OF_STACK) abort();
    return _URC_NO_REASON;
}
static __attribute__((noinline)) void raise_now(void) {
    _Unwind_ForcedUnwind(calloc(1, sizeof(struct _Unwind_Exception)), go_on, NULL);
    abort();
}
#define ATTEMPT(measure, p, q, n, depth) \
    ({ long slots_ = slots_end; attempts++; long result_ = attempt(measure, p, q, n, depth); attempts--; slots_end = slots_; result_; })
#define RAISE(now) do { if (attempts && !((now) & 15)) raise_now(); } while (0)
#else
#define ATTEMPT(measure, p, q, n, depth) measure(p, q, n, depth)
#define RAISE(now) MIX(now)
#endif
/* Run at the end of a scope, and while an exception leaves it. */
static void left(long *guard) { MIX(*guard); }
static void left_with(Any ***guard) { SEE(**guard); }

#define HASH(v) (((Any *)(v))->tag * 0x9E3779B97F4A7C15u >> 3)
#define BORN(v) (births++, born += HASH(v))
#define BURY(v) (burials++, buried += HASH(v))
static void guard_dies(Guard *o) {
    BURY(o);
    if (o->held && KIND(o->held) > K_Shelf) abort();
}
static void maker_dies(Maker *o) {
    ENTER;
    TALLY_ROOT(o);
    BURY(o);
    Guard *one = TALLY_NEW(Guard);
    one->tag = K_Guard | o->x << 4;
    BORN(one);
    if (o->x & 1) TALLY_WRITE(o, made, (Any *)one);
    LEAVE;
}
static void shelf_dies(Shelf *o) {
    ENTER;
    TALLY_ROOT(o);
    BURY(o);
    if (o->length) TALLY_WRITE(o, at[o->length / 2], NULL);
    if (!o->length) tally_safepoint();
    LEAVE;
}

/* Words. A low word is a number if its lowest bit is set; a NaN box is a reference if its high bits are 0xfffc. */
#define LOW_NUMBER(n) ((Low)(n) << 1 | 1)
#define LOW_OF(v) ((Low)(uintptr_t)(v))
#define LOW_IS(w) ((w) && !((w) & 1))
#define LOW_REF(w) (LOW_IS(w) ? (Any *)(uintptr_t)(w) : NULL)
#define LOW_SEE(w) MIX(LOW_IS(w) ? ((Any *)(uintptr_t)(w))->tag : (long)(w))
#define NAN_BOX UINT64_C(0xfffc000000000000)
#define NAN_BITS UINT64_C(0x0000ffffffffffff)
#define NAN_NUMBER(n) ((Nan)((n) & 0xffffffff))
#define NAN_OF(v) (NAN_BOX | (Nan)(uintptr_t)(v))
#define NAN_IS(w) ((w) >> 48 == 0xfffc && ((w) & NAN_BITS))
#define NAN_REF(w) (NAN_IS(w) ? (Any *)(uintptr_t)((w) & NAN_BITS) : NULL)
#define NAN_SEE(w) MIX(NAN_IS(w) ? ((Any *)(uintptr_t)((w) & NAN_BITS))->tag : (long)(w))

/* Small functions around objects that may be on the stack: they make one, or write to it. */
static Leaf *leaf_of(long x) {
    Leaf *o = TALLY_NEW(Leaf);
    o->tag = TAG(Leaf);
    o->x = x;
    return o;
}
static Pair *pair_of(Any *a, Any *b) {
    ENTER;
    TALLY_ROOT(a, b);
    Pair *o = TALLY_NEW(Pair);
    o->tag = TAG(Pair);
    o->x = 1;
    TALLY_WRITE(o, a, a);
    TALLY_WRITE(o, b, b);
    LEAVE;
    return o;
}
static void pair_turned(Pair *o) {
    Any *a = o->a;
    TALLY_WRITE(o, a, o->b);
    TALLY_WRITE(o, b, a);
    o->x += 3;
}

/* Reads what can be reached from v, a few steps at random. Reading only: no safepoint, no roots. */
static __attribute__((noinline)) void look(Any *v, long steps) {
    unsigned long way = (unsigned long)steps * 2654435761u + 12345;
    while (v && steps-- > 0) {
        way = way * 6364136223846793005u + 1442695040888963407u;
        unsigned long pick = way >> 40;
        SEE(v);
        switch (KIND(v)) {
        case K_Leaf: MIX(((Leaf *)v)->x); return;
        case K_Pair: MIX(((Pair *)v)->x); v = pick & 1 ? ((Pair *)v)->a : ((Pair *)v)->b; break;
        case K_Node:
            MIX(((Node *)v)->x ^ ((Node *)v)->inner.y);
            v = pick & 2 ? ((Node *)v)->inner.more[pick & 1] : pick & 1 ? ((Node *)v)->left : ((Node *)v)->right;
            break;
        case K_Row: MIX(((Row *)v)->length); v = IS_Row(v) ? ((Row *)v)->at[AT(Row, v, pick)] : NULL; break;
        case K_Table:
            MIX(((Table *)v)->length);
            if (IS_Table(v)) MIX(((Table *)v)->at[AT(Table, v, pick)].n);
            v = !IS_Table(v) || pick & 2 ? ((Table *)v)->owner
                : pick & 1 ? ((Table *)v)->at[AT(Table, v, pick)].key : ((Table *)v)->at[AT(Table, v, pick)].value;
            break;
        case K_Bytes:
            if (IS_Bytes(v)) MIX(((Bytes *)v)->at[AT(Bytes, v, pick)]);
            v = ((Bytes *)v)->owner;
            break;
        case K_Cell: {
            Low word = pick & 1 ? ((Cell *)v)->head : ((Cell *)v)->tail;
            LOW_SEE(word);
            MIX(((Cell *)v)->x);
            v = LOW_REF(word);
            break;
        }
        case K_Vec: {
            Nan word = IS_Vec(v) && pick & 3 ? ((Vec *)v)->at[AT(Vec, v, pick)] : ((Vec *)v)->first;
            NAN_SEE(word);
            v = NAN_REF(word);
            break;
        }
        case K_Big: MIX(((Big *)v)->pad[pick % 1200]); v = pick & 1 ? ((Big *)v)->f[(pick >> 1) % 10] : ((Big *)v)->last; break;
        case K_Wide: MIX(((Wide *)v)->x); v = pick & 1 ? ((Wide *)v)->a : ((Wide *)v)->b; break;
        case K_Guard: MIX(((Guard *)v)->x); v = ((Guard *)v)->held; break;
        case K_Maker: MIX(((Maker *)v)->x); v = pick & 1 ? ((Maker *)v)->made : ((Maker *)v)->other; break;
        case K_Shelf: MIX(((Shelf *)v)->length); v = IS_Shelf(v) ? ((Shelf *)v)->at[AT(Shelf, v, pick)] : NULL; break;
        default: MIX(99); return;
        }
    }
}
