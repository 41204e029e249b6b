/* NaN-boxed values: one 64-bit word is a number, a truth value or a reference, as in many engines of scripting languages.
 *
 * A double's bits stand for the double; the 2^52 bit patterns that mean "not a number" are more than arithmetic ever produces, and
 * the spare ones hold everything else. TALLY_TAGGED_TYPE tells Tally which words are references and where the address is, for
 * fields, array elements and root variables alike. Stores of such words go through TALLY_WRITE_TAGGED.
 *
 *     tally run examples/nan_boxed.c
 */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef uint64_t Value;
#define TAG_MASK 0xffff000000000000u
#define TAG_REFERENCE 0xfffc000000000000u
#define TAG_TRUTH 0xfffd000000000000u
#define ADDRESS 0x0000ffffffffffffu
TALLY_TAGGED_TYPE(Value, TAG_MASK, TAG_REFERENCE, ADDRESS);

/* Macros, not functions: a call would be a safepoint between making a word and rooting it. */
#define NUMBER(number) (((union { double d; Value w; }){.d = (number)}).w)
#define TRUTH(condition) (TAG_TRUTH | (Value) !!(condition))
#define REFERENCE(object) (TAG_REFERENCE | (Value)(object))
#define IS_REFERENCE(value) (((value) & TAG_MASK) == TAG_REFERENCE)
#define IS_TRUTH(value) (((value) & TAG_MASK) == TAG_TRUTH)
#define AS_NUMBER(value) (((union { double d; Value w; }){.w = (value)}).d)
#define AS_OBJECT(value) ((Object *)((value) & ADDRESS))

enum { TEXT, VECTOR };
typedef struct Object {
    uint64_t kind;
} Object;

typedef struct Text {
    uint64_t kind, length;
    char at[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, at);

typedef struct Cells {
    uint64_t capacity;
    Value at[];
} Cells;
TALLY_ARRAY_TYPE_TAGGED(Cells, Value, capacity, at);

typedef struct Vector {
    uint64_t kind, length;
    Value cells;
} Vector;
TALLY_TYPE_TAGGED(Vector, Value, cells);
#define AS_VECTOR(value) ((Vector *)AS_OBJECT(value))
#define CELLS(vector) ((Cells *)AS_OBJECT((vector)->cells))

static Value text(const char *characters) {
    size_t length = strlen(characters);
    Text *text = TALLY_NEW_ARRAY(Text, length);
    text->kind = TEXT;
    for (size_t i = 0; i < length; i++) text->at[i] = characters[i];
    return REFERENCE(text);
}

static Value vector(uint64_t capacity) {
    Vector *vector = TALLY_NEW(Vector);
    TALLY_ROOT(vector);
    vector->kind = VECTOR;
    vector->length = 0;
    Cells *cells = TALLY_NEW_ARRAY(Cells, capacity);
    TALLY_WRITE_TAGGED(vector, cells, REFERENCE(cells));
    return REFERENCE(vector);
}

static void append(Value to, Value value) {
    TALLY_ROOT_TAGGED(Value, to, value);
    Vector *vector = AS_VECTOR(to);
    TALLY_ROOT(vector);
    if (vector->length == CELLS(vector)->capacity) {
        Cells *wider = TALLY_NEW_ARRAY(Cells, 2 * vector->length);
        TALLY_COPY(wider, wider->at, CELLS(vector)->at, vector->length);
        TALLY_WRITE_TAGGED(vector, cells, REFERENCE(wider));
    }
    Cells *cells = CELLS(vector);
    TALLY_WRITE_TAGGED(cells, at[vector->length], value);
    vector->length++;
}

static void print(Value value, int depth) {
    TALLY_ROOT_TAGGED(Value, value);
    if (IS_TRUTH(value)) {
        printf("%s", value & 1 ? "true" : "false");
    } else if (!IS_REFERENCE(value)) {
        printf("%g", AS_NUMBER(value));
    } else if (AS_OBJECT(value)->kind == TEXT) {
        Text *text = (Text *)AS_OBJECT(value);
        printf("\"%.*s\"", (int)text->length, text->at);
    } else if (depth == 0) {
        printf("[...]");
    } else {
        printf("[");
        for (uint64_t i = 0; i < AS_VECTOR(value)->length; i++) {
            if (i) printf(", ");
            print(CELLS(AS_VECTOR(value))->at[i], depth - 1);
        }
        printf("]");
    }
}

/* Numbers add up, a truth counts as one, a text as its length, a vector as the sum of what is in it. */
static double weight(Value value, int depth) {
    TALLY_ROOT_TAGGED(Value, value);
    if (IS_TRUTH(value)) return value & 1;
    if (!IS_REFERENCE(value)) return AS_NUMBER(value);
    if (AS_OBJECT(value)->kind == TEXT) return ((Text *)AS_OBJECT(value))->length;
    double sum = 0;
    for (uint64_t i = 0; depth && i < AS_VECTOR(value)->length; i++) sum += weight(CELLS(AS_VECTOR(value))->at[i], depth - 1);
    return sum;
}

/* Overwrites the elements of a vector with values of every sort; some of the vectors contain themselves. */
static void shuffle(Value of, int rounds) {
    Value fresh = 0;
    TALLY_ROOT_TAGGED(Value, of, fresh);
    uint32_t random = 1;
    for (int round = 0; round < rounds; round++) {
        random = random * 1664525u + 1013904223u;
        uint64_t at = (random >> 12) % AS_VECTOR(of)->length;
        switch (random >> 30) {
        case 0: fresh = NUMBER(round % 1000 / 4.0); break;
        case 1: fresh = TRUTH(round & 4); break;
        case 2: fresh = text(round & 1 ? "odd" : "even"); break;
        default:
            fresh = vector(2);
            append(fresh, CELLS(AS_VECTOR(of))->at[at]);
            append(fresh, NUMBER(round % 100));
            append(fresh, fresh);
        }
        Cells *cells = CELLS(AS_VECTOR(of));
        TALLY_WRITE_TAGGED(cells, at[at], fresh);
    }
}

int main(void) {
    Value list = vector(1), inner = vector(1);
    TALLY_ROOT_TAGGED(Value, list, inner);
    append(list, NUMBER(3.25));
    append(list, TRUTH(1));
    append(list, text("words and numbers in one array"));
    append(list, inner);
    append(inner, NUMBER(-1.0 / 3));
    append(inner, TRUTH(0));
    append(inner, NUMBER(1e300 * 1e300));
    append(inner, list); /* a cycle through two vectors and their cells */
    print(list, 2);
    printf("\n");

    list = vector(4);
    for (int i = 0; i < 64; i++) append(list, NUMBER(i));
    printf("%g before, ", weight(list, 3));
    shuffle(list, 2000);
    printf("%g after\n", weight(list, 3));
}
