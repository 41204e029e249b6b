/* lua: a small language after Lua, compiled to the code of a stack machine and run. Values are tagged words: numbers,
 * or references to strings, tables, closures and environments, which hold the variables of a call. A run of the
 * script makes trees whose nodes know their parents, objects whose methods refer to them, functions that call
 * themselves, and strings; most die within the run, and much of it is cyclic. By hand, values count their owners, and
 * what is left in cycles is freed when the run ends.
 */
#include "program.h"
#include "text.h"

typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 3, 0, ~UINT64_C(3));
enum { NIL = 0, FALSE = 2, TRUE = 6 };
enum { STRING, TABLE, CLOSURE, ENVIRONMENT };

#define OBJECT long kind BY_HAND(; long owners; struct Object *next, *before)
typedef struct Object {
    OBJECT;
} Object;

typedef struct String {
    OBJECT;
    uint64_t length, hash;
    char bytes[];
} String;
TALLY_DATA_ARRAY_TYPE(String, length, bytes);

typedef struct Values {
    uint64_t length;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_TAGGED(Values, Value, length, at);

/* What is at 1, 2, … stands in a list, the rest in pairs of key and value, hashed. */
typedef struct Table {
    OBJECT;
    Values *list, *pairs;
    long count, used;
} Table;
TALLY_TYPE(Table, list, pairs);

typedef struct Environment {
    OBJECT;
    uint64_t length;
    Value outer;
    Value at[];
} Environment;
TALLY_ARRAY_TYPE_TAGGED(Environment, Value, length, at, outer);

typedef struct Closure {
    OBJECT;
    Environment *environment;
    long function;
} Closure;
TALLY_TYPE(Closure, environment);

typedef struct State {
    Values *stack, *globals, *constants;
    long top, calls;
    BY_HAND(Object all;)
} State;
TALLY_TYPE(State, stack, globals, constants);

static inline int is_number(Value value) { return (value & 3) == 1; }
static inline long number_of(Value value) { return (int64_t)value >> 2; }
static inline Value number(long number) { return (uint64_t)number << 2 | 1; }
static inline Value boolean(int is_true) { return is_true ? TRUE : FALSE; }
static inline int is_object(Value value, long kind) { return value && !(value & 3) && ((Object *)value)->kind == kind; }
static inline int is_true(Value value) { return value != NIL && value != FALSE; }

#ifdef FREED_BY_HAND
static void began(State *state, Object *object) {
    object->owners = 1;
    object->next = state->all.next;
    object->before = &state->all;
    if (object->next) object->next->before = object;
    state->all.next = object;
}

static inline Value keep(Value value) {
    if (value && !(value & 3)) ((Object *)value)->owners++;
    return value;
}

static void release(Value value);
static void release_all(Values *values) {
    for (uint64_t i = 0; i < values->length; i++) release(values->at[i]);
}

static void free_parts(Object *object, int with_values) {
    if (object->kind == TABLE) {
        Table *table = (Table *)object;
        if (with_values) release_all(table->list), release_all(table->pairs);
        free(table->list);
        free(table->pairs);
    } else if (with_values && object->kind == CLOSURE) {
        release((Value)((Closure *)object)->environment);
    } else if (with_values && object->kind == ENVIRONMENT) {
        Environment *environment = (Environment *)object;
        for (uint64_t i = 0; i < environment->length; i++) release(environment->at[i]);
        release(environment->outer);
    }
}

static void release(Value value) {
    Object *object = (Object *)value;
    if (!value || value & 3 || --object->owners > 0) return;
    object->before->next = object->next;
    if (object->next) object->next->before = object->before;
    free_parts(object, 1);
    free(object);
}
#else
#define began(state, object) ((void)0)
#define keep(value) (value)
#define release(value) ((void)0)
#endif

/* ---- Strings and tables ---- */

static Value new_string(State *state, const char *one, uint64_t one_length, const char *other, uint64_t other_length) {
    (void)state;
    String *string = TALLY_NEW_ARRAY(String, one_length + other_length);
    TALLY_ROOT(string);
    string->kind = STRING;
    memcpy(string->bytes, one, one_length);
    memcpy(string->bytes + one_length, other, other_length);
    string->hash = hash_of(string->bytes, string->length);
    began(state, (Object *)string);
    return (Value)string;
}

static Table *new_table(State *state) {
    (void)state;
    Table *table = TALLY_NEW(Table);
    TALLY_ROOT(table);
    table->kind = TABLE;
    table->count = table->used = 0;
    TALLY_WRITE(table, list, TALLY_NEW_ARRAY(Values, 4));
    TALLY_WRITE(table, pairs, TALLY_NEW_ARRAY(Values, 8));
    began(state, (Object *)table);
    return table;
}

static int are_equal(Value one, Value other) {
    if (one == other) return 1;
    if (!is_object(one, STRING) || !is_object(other, STRING)) return 0;
    String *a = (String *)one, *b = (String *)other;
    return a->hash == b->hash && is_equal(a->bytes, a->length, b->bytes, b->length);
}

/* The place of a key in pairs, or the empty one where it belongs. */
static uint64_t place_of(Values *pairs, Value key) {
    TALLY_ROOT(pairs);
    TALLY_ROOT_TAGGED(Value, key);
    uint64_t hash = is_object(key, STRING) ? ((String *)key)->hash : key * 0x9e3779b97f4a7c15ull >> 20;
    uint64_t place = 2 * hash & (pairs->length - 1);
    while (pairs->at[place] && !are_equal(pairs->at[place], key)) place = (place + 2) & (pairs->length - 1);
    return place;
}

static Value get(Table *table, Value key) {
    TALLY_ROOT(table);
    if (is_number(key) && number_of(key) >= 1 && number_of(key) <= table->count) return table->list->at[number_of(key) - 1];
    uint64_t place = place_of(table->pairs, key);
    return table->pairs->at[place + 1];
}

static Values *copy_of(Values *values, uint64_t length) {
    TALLY_ROOT(values);
    Values *copy = TALLY_NEW_ARRAY(Values, length);
    for (uint64_t i = 0; i < values->length; i++) TALLY_WRITE_TAGGED(copy, at[i], values->at[i]);
    FREE(values);
    return copy;
}

static void enlarge_pairs(Table *table) {
    TALLY_ROOT(table);
    Values *old = table->pairs;
    TALLY_ROOT(old);
    Values *pairs = TALLY_NEW_ARRAY(Values, 2 * old->length);
    TALLY_ROOT(pairs);
    for (uint64_t i = 0; i < old->length; i += 2) {
        if (!old->at[i]) continue;
        uint64_t place = place_of(pairs, old->at[i]);
        TALLY_WRITE_TAGGED(pairs, at[place], old->at[i]);
        TALLY_WRITE_TAGGED(pairs, at[place + 1], old->at[i + 1]);
    }
    TALLY_WRITE(table, pairs, pairs);
    FREE(old);
}

/* Stores a value; by hand, key and value are the table's from then on. */
static void set(Table *table, Value key, Value value) {
    TALLY_ROOT(table);
    TALLY_ROOT_TAGGED(Value, key, value);
    if (is_number(key) && number_of(key) >= 1 && number_of(key) <= table->count + 1) {
        uint64_t place = number_of(key) - 1;
        if (place == table->list->length) TALLY_WRITE(table, list, copy_of(table->list, 2 * place));
        if (place == (uint64_t)table->count)
            table->count++;
        else
            release(table->list->at[place]);
        TALLY_WRITE_TAGGED(table->list, at[place], value);
        return;
    }
    if ((uint64_t)table->used * 8 >= table->pairs->length * 3) enlarge_pairs(table);
    uint64_t place = place_of(table->pairs, key);
    if (table->pairs->at[place]) {
        release(key);
        release(table->pairs->at[place + 1]);
    } else {
        table->used++;
        TALLY_WRITE_TAGGED(table->pairs, at[place], key);
    }
    TALLY_WRITE_TAGGED(table->pairs, at[place + 1], value);
}

/* ---- The machine: compiled functions are plain C data, made once. ---- */

enum { CODE_MAX = 600, FUNCTIONS_MAX = 24, NAMES_MAX = 48, STACK = 4096 };
enum {
    CONSTANT, WORD, LOCAL, SET_LOCAL, GLOBAL, SET_GLOBAL, INDEX, SET_INDEX, NEW_TABLE, MAKE, CALL, RETURN, POP, JUMP,
    JUMP_IF_NOT, AND, OR, ADD, SUBTRACT, MULTIPLY, REMAINDER, CONCATENATE, EQUAL, UNEQUAL, LESS, AT_MOST, LENGTH, NOT,
};

typedef struct Function {
    int code[CODE_MAX], length, slots, parameters;
} Function;
static Function functions[FUNCTIONS_MAX];
static int function_count, global_count, constant_count;

/* By hand, what is on the stack is the stack's, and goes with what is popped. */
static inline void push(State *state, Value value) {
    if (state->top == STACK) abort();
    TALLY_WRITE_TAGGED(state->stack, at[state->top], value);
    state->top++;
}

static inline Value pop(State *state) { return state->stack->at[--state->top]; }

static Value as_string(State *state, Value value) {
    TALLY_ROOT(state);
    TALLY_ROOT_TAGGED(Value, value);
    if (!is_number(value)) return value;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%ld", number_of(value));
    return new_string(state, digits, length, "", 0);
}

static Value concatenated(State *state, Value left, Value right) {
    TALLY_ROOT(state);
    TALLY_ROOT_TAGGED(Value, left, right);
    left = as_string(state, left);
    right = as_string(state, right);
    String *one = (String *)left, *other = (String *)right;
    Value both = new_string(state, one->bytes, one->length, other->bytes, other->length);
    release(left);
    release(right);
    return both;
}

static Environment *new_environment(State *state, Closure *closure, long arguments) {
    TALLY_ROOT(state, closure);
    Function *function = &functions[closure->function];
    Environment *environment = TALLY_NEW_ARRAY(Environment, function->slots);
    TALLY_ROOT(environment);
    environment->kind = ENVIRONMENT;
    began(state, (Object *)environment);
    TALLY_WRITE_TAGGED(environment, outer, keep((Value)closure->environment));
    BY_HAND(memset(environment->at, 0, function->slots * sizeof(Value));)
    for (; arguments > function->parameters; arguments--) {
        Value extra = pop(state);
        (void)extra;
        release(extra);
    }
    while (arguments-- > 0) TALLY_WRITE_TAGGED(environment, at[arguments], pop(state));
    return environment;
}

static Environment *environment_at(Environment *environment, int depth) {
    while (depth-- > 0) environment = (Environment *)environment->outer;
    return environment;
}

static Value arithmetic(int operation, Value left, Value right) {
    long a = number_of(left), b = number_of(right);
    switch (operation) {
    case ADD: return number(a + b);
    case SUBTRACT: return number(a - b);
    case MULTIPLY: return number(a * b);
    case REMAINDER: return number(b ? a % b : 0);
    case LESS: return boolean(a < b);
    default: return boolean(a <= b);
    }
}

static void call(State *state, long arguments);

static Value run(State *state, Closure *closure, long arguments) {
    TALLY_ROOT(state, closure);
    Environment *environment = new_environment(state, closure, arguments), *at = NULL;
    Table *table = NULL;
    TALLY_ROOT(environment, at, table);
    Value left = NIL, right = NIL;
    TALLY_ROOT_TAGGED(Value, left, right);
    const int *code = functions[closure->function].code;
    for (;;) {
        int operation = *code++;
        switch (operation) {
        case CONSTANT: push(state, keep(state->constants->at[*code++])); break;
        case WORD: push(state, *code++); break;
        case LOCAL:
            at = environment_at(environment, code[0]);
            push(state, keep(at->at[code[1]]));
            code += 2;
            break;
        case SET_LOCAL:
            at = environment_at(environment, code[0]);
            left = pop(state);
            release(at->at[code[1]]);
            TALLY_WRITE_TAGGED(at, at[code[1]], left);
            code += 2;
            break;
        case GLOBAL: push(state, keep(state->globals->at[*code++])); break;
        case SET_GLOBAL:
            left = pop(state);
            release(state->globals->at[*code]);
            TALLY_WRITE_TAGGED(state->globals, at[*code++], left);
            break;
        case INDEX:
            right = pop(state);
            left = pop(state);
            if (!is_object(left, TABLE)) abort();
            push(state, keep(get((Table *)left, right)));
            release(left);
            release(right);
            break;
        case SET_INDEX:
            right = pop(state);
            left = pop(state);
            table = (Table *)pop(state);
            if (!is_object((Value)table, TABLE)) abort();
            set(table, left, right);
            release((Value)table);
            break;
        case NEW_TABLE: push(state, (Value)new_table(state)); break;
        case MAKE: {
            Closure *made = TALLY_NEW(Closure);
            TALLY_ROOT(made);
            made->kind = CLOSURE;
            made->function = *code++;
            TALLY_WRITE(made, environment, environment);
            BY_HAND(keep((Value)environment);)
            began(state, (Object *)made);
            push(state, (Value)made);
            break;
        }
        case CALL: call(state, *code++); break;
        case RETURN: release((Value)environment); return pop(state);
        case POP:
            left = pop(state);
            release(left);
            break;
        case JUMP: code += *code; break;
        case JUMP_IF_NOT:
        case AND:
        case OR:
            left = pop(state);
            if (is_true(left) != (operation == OR)) { /* goes on, without the value */
                code++;
                release(left);
            } else {
                code += *code;
                if (operation == JUMP_IF_NOT)
                    release(left);
                else
                    push(state, left);
            }
            break;
        case CONCATENATE:
            right = pop(state);
            left = pop(state);
            push(state, concatenated(state, left, right));
            break;
        case EQUAL:
        case UNEQUAL:
            right = pop(state);
            left = pop(state);
            push(state, boolean(are_equal(left, right) == (operation == EQUAL)));
            release(left);
            release(right);
            break;
        case LENGTH:
            left = pop(state);
            push(state, number(is_object(left, STRING) ? (long)((String *)left)->length : ((Table *)left)->count));
            release(left);
            break;
        case NOT:
            left = pop(state);
            push(state, boolean(!is_true(left)));
            release(left);
            break;
        default:
            right = pop(state);
            left = pop(state);
            if (!is_number(left) || !is_number(right)) abort();
            push(state, arithmetic(operation, left, right));
        }
    }
}

/* Calls the closure that lies under its arguments on the stack; what it returns lies there then. */
static void call(State *state, long arguments) {
    TALLY_ROOT(state);
    Value closure = state->stack->at[state->top - arguments - 1], result = NIL;
    TALLY_ROOT_TAGGED(Value, closure, result);
    if (!is_object(closure, CLOSURE)) abort();
    if (!(++state->calls & 127)) tick();
    result = run(state, (Closure *)closure, arguments);
    state->top--;
    release(closure);
    push(state, result);
}

#include "lua_compiler.h"

static State *new_state(void) {
    State *state = TALLY_NEW(State);
    TALLY_ROOT(state);
    state->top = state->calls = 0;
    BY_HAND(state->all = (Object){0};)
    TALLY_WRITE(state, stack, TALLY_NEW_ARRAY(Values, STACK));
    TALLY_WRITE(state, globals, TALLY_NEW_ARRAY(Values, NAMES_MAX));
    TALLY_WRITE(state, constants, TALLY_NEW_ARRAY(Values, NAMES_MAX));
    for (int i = 0; i < constant_count; i++)
        TALLY_WRITE_TAGGED(state->constants, at[i], new_string(state, constants[i], strlen(constants[i]), "", 0));
    return state;
}

#ifdef FREED_BY_HAND
static void free_state(State *state) {
    for (Object *object = state->all.next; object;) {
        Object *next = object->next;
        free_parts(object, 0);
        free(object);
        object = next;
    }
    free(state->stack);
    free(state->globals);
    free(state->constants);
    free(state);
}
#endif

static uint64_t lua(long size) {
    compile(script);
    uint64_t sum = 0;
    for (long left = size; left > 0; left -= 10) {
        State *state = new_state();
        TALLY_ROOT(state);
        TALLY_WRITE_TAGGED(state->globals, at[0], number(left % 1000 + 1)); /* the seed of its random numbers */
        TALLY_WRITE_TAGGED(state->globals, at[1], number(left < 10 ? left : 10));
        TALLY_WRITE_TAGGED(state->globals, at[2], number(size < 10 ? 1 : 6));
        Closure *main_closure = TALLY_NEW(Closure);
        TALLY_ROOT(main_closure);
        main_closure->kind = CLOSURE;
        main_closure->function = 0;
        began(state, (Object *)main_closure);
        push(state, (Value)main_closure);
        call(state, 0);
        sum = mix(sum, number_of(pop(state)));
        BY_HAND(free_state(state);)
        tick();
    }
    return sum;
}
PROGRAM(lua, 3000, 10, 1)
