/* json: documents are written as text, parsed, changed and printed, after the Json of "Are We Fast Yet". A cache
 * holds the last 128 documents; each new one lets the oldest die, with its objects, arrays, strings and numbers.
 * Nothing is cyclic.
 */
#include "program.h"
#include "text.h"
#include "vector.h"

enum { NONE, FALSE, TRUE, NUMBER, STRING, ARRAY, OBJECT };

/* What all values begin with. */
typedef struct Value {
    long kind;
} Value;
TALLY_TYPE(Value);

typedef struct Number {
    long kind;
    double number;
} Number;
TALLY_TYPE(Number);

typedef struct String {
    long kind;
    Text *text;
} String;
TALLY_ACYCLIC_TYPE(String, text);

typedef struct Array {
    long kind;
    Vector *values;
} Array;
TALLY_TYPE(Array, values);

/* Where the members are by the hash of their names; a place is 0 if there is none, or more than one of that hash. */
typedef struct Places {
    uint64_t length;
    unsigned char at[];
} Places;
TALLY_DATA_ARRAY_TYPE(Places, length, at);

typedef struct Object {
    long kind;
    Vector *names, *values;
    Places *places;
} Object;
TALLY_TYPE(Object, names, values, places);

enum { PLACES = 32 };

static Value *new_value(long kind) {
    Value *value = TALLY_NEW(Value);
    value->kind = kind;
    return value;
}

static Object *new_object(void) {
    Object *object = TALLY_NEW(Object);
    TALLY_ROOT(object);
    object->kind = OBJECT;
    TALLY_WRITE(object, names, new_vector(4));
    TALLY_WRITE(object, values, new_vector(4));
    TALLY_WRITE(object, places, TALLY_NEW_ARRAY(Places, PLACES));
    memset(object->places->at, 0, PLACES);
    return object;
}

static void set_member(Object *object, Text *name, Value *value) {
    TALLY_ROOT(object, name, value);
    uint64_t hash = hash_of(name->bytes, name->length) & (PLACES - 1);
    append(object->names, name);
    append(object->values, value);
    if (object->names->length < 255) object->places->at[hash] = object->names->length;
}

/* The member of this name; the last one if there are several. */
static Value *member(Object *object, const char *name) {
    uint64_t length = strlen(name), hash = hash_of(name, length) & (PLACES - 1);
    long place = object->places->at[hash];
    if (place > 0) {
        Text *found = object->names->items->at[place - 1];
        if (is_equal(found->bytes, found->length, name, length)) return object->values->items->at[place - 1];
    }
    for (long i = object->names->length - 1; i >= 0; i--) {
        Text *found = object->names->items->at[i];
        if (is_equal(found->bytes, found->length, name, length)) return object->values->items->at[i];
    }
    return NULL;
}

#ifdef FREED_BY_HAND
static void free_value(Value *value) {
    if (value->kind == STRING) {
        free(((String *)value)->text);
    } else if (value->kind == ARRAY) {
        Vector *values = ((Array *)value)->values;
        for (long i = 0; i < values->length; i++) free_value(values->items->at[i]);
        free_vector(values);
    } else if (value->kind == OBJECT) {
        Object *object = (Object *)value;
        for (long i = 0; i < object->names->length; i++) {
            free(object->names->items->at[i]);
            free_value(object->values->items->at[i]);
        }
        free_vector(object->names);
        free_vector(object->values);
        free(object->places);
    }
    free(value);
}
#endif

typedef struct Parser {
    Text *text;
    uint64_t at;
} Parser;
TALLY_TYPE(Parser, text);

static int next_byte(Parser *parser) {
    Text *text = parser->text;
    while (parser->at < text->length && (text->bytes[parser->at] == ' ' || text->bytes[parser->at] == '\n')) parser->at++;
    return parser->at < text->length ? text->bytes[parser->at] : -1;
}

static void expect(Parser *parser, int byte) {
    if (next_byte(parser) != byte) {
        fprintf(stderr, "json: '%c' expected at byte %lu\n", byte, (unsigned long)parser->at);
        exit(1);
    }
    parser->at++;
}

static Text *parse_text(Parser *parser) {
    TALLY_ROOT(parser);
    expect(parser, '"');
    uint64_t from = parser->at;
    int has_escapes = 0;
    for (; parser->text->bytes[parser->at] != '"'; parser->at++)
        if (parser->text->bytes[parser->at] == '\\') has_escapes = 1, parser->at++;
    uint64_t to = parser->at++;
    if (!has_escapes) return part_of(parser->text, from, to);
    Builder *builder = new_builder(to - from);
    TALLY_ROOT(builder);
    for (uint64_t i = from; i < to; i++) {
        char byte = parser->text->bytes[i];
        if (byte == '\\') byte = parser->text->bytes[++i] == 'n' ? '\n' : parser->text->bytes[i];
        add_bytes(builder, &byte, 1);
    }
    return finished(builder);
}

static Value *parse_number(Parser *parser) {
    TALLY_ROOT(parser);
    const char *bytes = parser->text->bytes;
    uint64_t at = parser->at;
    int is_negative = bytes[at] == '-';
    double number = 0, scale = 1;
    for (at += is_negative; bytes[at] >= '0' && bytes[at] <= '9'; at++) number = number * 10 + (bytes[at] - '0');
    if (bytes[at] == '.')
        for (at++; bytes[at] >= '0' && bytes[at] <= '9'; at++) number += (bytes[at] - '0') * (scale /= 10);
    parser->at = at;
    Number *value = TALLY_NEW(Number);
    value->kind = NUMBER;
    value->number = is_negative ? -number : number;
    return (Value *)value;
}

static Value *parse_word(Parser *parser, const char *word, long kind) {
    TALLY_ROOT(parser);
    for (; *word; word++) expect(parser, *word);
    return new_value(kind);
}

static Value *parse_value(Parser *parser);

static Value *parse_array(Parser *parser) {
    TALLY_ROOT(parser);
    Array *array = TALLY_NEW(Array);
    TALLY_ROOT(array);
    array->kind = ARRAY;
    TALLY_WRITE(array, values, new_vector(4));
    expect(parser, '[');
    while (next_byte(parser) != ']') {
        if (array->values->length > 0) expect(parser, ',');
        append(array->values, parse_value(parser));
    }
    expect(parser, ']');
    return (Value *)array;
}

static Value *parse_object(Parser *parser) {
    TALLY_ROOT(parser);
    Object *object = new_object();
    TALLY_ROOT(object);
    expect(parser, '{');
    while (next_byte(parser) != '}') {
        if (object->names->length > 0) expect(parser, ',');
        Text *name = parse_text(parser);
        TALLY_ROOT(name);
        expect(parser, ':');
        set_member(object, name, parse_value(parser));
    }
    expect(parser, '}');
    return (Value *)object;
}

static Value *parse_value(Parser *parser) {
    TALLY_ROOT(parser);
    switch (next_byte(parser)) {
    case '{': return parse_object(parser);
    case '[': return parse_array(parser);
    case 't': return parse_word(parser, "true", TRUE);
    case 'f': return parse_word(parser, "false", FALSE);
    case 'n': return parse_word(parser, "null", NONE);
    case '"': {
        Text *text = parse_text(parser);
        TALLY_ROOT(text);
        String *string = TALLY_NEW(String);
        string->kind = STRING;
        TALLY_WRITE(string, text, text);
        return (Value *)string;
    }
    default: return parse_number(parser);
    }
}

static Value *parse(Text *text) {
    TALLY_ROOT(text);
    Parser *parser = TALLY_NEW(Parser);
    TALLY_ROOT(parser);
    parser->at = 0;
    TALLY_WRITE(parser, text, text);
    Value *value = parse_value(parser);
    FREE(parser);
    return value;
}

static void print_text(Builder *out, Text *text) {
    TALLY_ROOT(out, text);
    add_words(out, "\"");
    uint64_t from = 0;
    for (uint64_t i = 0; i < text->length; i++) {
        char byte = text->bytes[i];
        if (byte != '"' && byte != '\\' && byte != '\n') continue;
        add_bytes(out, text->bytes + from, i - from);
        add_words(out, byte == '"' ? "\\\"" : byte == '\n' ? "\\n" : "\\\\");
        from = i + 1;
    }
    add_bytes(out, text->bytes + from, text->length - from);
    add_words(out, "\"");
}

static void print_number(Builder *out, double number) {
    TALLY_ROOT(out);
    long thousandths = (long)(number * 1000 + (number < 0 ? -0.5 : 0.5)), rest = labs(thousandths) % 1000;
    if (thousandths < 0 && thousandths > -1000) add_words(out, "-");
    add_number(out, thousandths / 1000);
    if (rest == 0) return;
    char digits[4] = {'.', '0' + rest / 100, '0' + rest / 10 % 10, '0' + rest % 10};
    add_bytes(out, digits, 4);
}

static void print(Builder *out, Value *value) {
    TALLY_ROOT(out, value);
    if (value->kind == NUMBER) {
        print_number(out, ((Number *)value)->number);
    } else if (value->kind == STRING) {
        print_text(out, ((String *)value)->text);
    } else if (value->kind == ARRAY) {
        add_words(out, "[");
        for (long i = 0; i < ((Array *)value)->values->length; i++) {
            if (i > 0) add_words(out, ",");
            print(out, ((Array *)value)->values->items->at[i]);
        }
        add_words(out, "]");
    } else if (value->kind == OBJECT) {
        Object *object = (Object *)value;
        TALLY_ROOT(object);
        add_words(out, "{");
        for (long i = 0; i < object->names->length; i++) {
            if (i > 0) add_words(out, ",");
            print_text(out, object->names->items->at[i]);
            add_words(out, ":");
            print(out, object->values->items->at[i]);
        }
        add_words(out, "}");
    } else {
        add_words(out, value->kind == TRUE ? "true" : value->kind == FALSE ? "false" : "null");
    }
}

/* Orders of a shop, as a service would send them. */
static Text *new_document(int orders) {
    Builder *out = new_builder(256);
    TALLY_ROOT(out);
    add_words(out, "{\"version\": 2, \"orders\": [");
    for (int order = 0; order < orders; order++) {
        add_words(out, order ? ",\n {\"id\": " : "\n {\"id\": ");
        add_number(out, random_below(1000000));
        add_words(out, ", \"customer\": {\"name\": \"customer \\\"");
        add_number(out, random_below(5000));
        add_words(out, "\\\"\", \"is new\": ");
        add_words(out, random_below(3) ? "false" : "true");
        add_words(out, ", \"referrer\": null}, \"items\": [");
        int items = 1 + random_below(8);
        for (int item = 0; item < items; item++) {
            add_words(out, item ? ", {\"article\": \"article number " : "{\"article\": \"article number ");
            add_number(out, random_below(30000));
            add_words(out, "\", \"count\": ");
            add_number(out, 1 + random_below(9));
            add_words(out, ", \"price\": ");
            add_number(out, random_below(900));
            add_words(out, ".25}");
        }
        add_words(out, "], \"note\": \"two lines,\\nfor whoever packs this parcel\"}");
    }
    add_words(out, "]}");
    return finished(out);
}

/* Adds to each order what it costs, and takes out those of new customers. */
static double total(Value *document) {
    TALLY_ROOT(document);
    Vector *orders = ((Array *)member((Object *)document, "orders"))->values;
    TALLY_ROOT(orders);
    double sum = 0;
    for (long i = 0; i < orders->length; i++) {
        Object *order = orders->items->at[i];
        TALLY_ROOT(order);
        if (member((Object *)member(order, "customer"), "is new")->kind == TRUE) {
            remove_item(orders, order);
            BY_HAND(free_value((Value *)order);)
            i--;
            continue;
        }
        Vector *items = ((Array *)member(order, "items"))->values;
        TALLY_ROOT(items);
        double costs = 0;
        for (long at = 0; at < items->length; at++) {
            Object *item = items->items->at[at];
            TALLY_ROOT(item);
            Number *count = (Number *)member(item, "count");
            TALLY_ROOT(count);
            costs += count->number * ((Number *)member(item, "price"))->number;
        }
        Text *name = new_text("costs", 5);
        TALLY_ROOT(name);
        Number *value = TALLY_NEW(Number);
        value->kind = NUMBER;
        value->number = costs;
        set_member(order, name, (Value *)value);
        sum += costs;
    }
    return sum;
}

static uint64_t json(long size) {
    enum { CACHED = 128 };
    Items *cache = TALLY_NEW_ARRAY(Items, CACHED);
    TALLY_ROOT(cache);
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        Text *source = new_document(size < 10 ? 2 : 5 + random_below(60));
        TALLY_ROOT(source);
        Value *document = parse(source);
        TALLY_ROOT(document);
        FREE(source);
        sum = mix(sum, (uint64_t)(total(document) * 4));
        Builder *out = new_builder(256);
        TALLY_ROOT(out);
        print(out, document);
        Text *printed = finished(out);
        TALLY_ROOT(printed);
        sum = mix(sum, hash_of(printed->bytes, printed->length));
        FREE(printed);
        BY_HAND(if (cache->at[round % CACHED]) free_value(cache->at[round % CACHED]);)
        TALLY_WRITE(cache, at[round % CACHED], document);
        tick();
    }
    return sum;
}
PROGRAM(json, 3000, 20, 1)
