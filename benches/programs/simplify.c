/* simplify: a computer algebra: expressions are made, differentiated, simplified by rules until none applies, and
 * printed. Results of the last sixty-four problems live, and stand in new problems in the place of variables; all
 * steps between die soon. Expressions share their parts and are never changed. By hand, they count their owners.
 */
#include "program.h"
#include "text.h"

enum { NUMBER, VARIABLE, SUM, PRODUCT, POWER, SINE, COSINE, EXPONENTIAL };

typedef struct Expression {
    struct Expression *left, *right;
    long kind, number; /* the value, the variable, or the exponent */
    BY_HAND(long owners;)
} Expression;
TALLY_ACYCLIC_TYPE(Expression, left, right);

typedef struct Results {
    uint64_t length;
    Expression *at[];
} Results;
TALLY_ARRAY_TYPE(Results, length, at);

enum { KEPT = 64, VARIABLES = 3 };

#ifdef FREED_BY_HAND
static Expression *keep(Expression *e) {
    e->owners++;
    return e;
}

static void release(Expression *e) {
    while (e && --e->owners == 0) {
        Expression *right = e->right;
        release(e->left);
        free(e);
        e = right;
    }
}
#else
#define keep(e) (e)
#define release(e) ((void)(e))
#endif

/* Functions that make expressions of others own those from then on. */
static Expression *new_expression(long kind, long number, Expression *left, Expression *right) {
    TALLY_ROOT(left, right);
    Expression *e = TALLY_NEW(Expression);
    e->kind = kind;
    e->number = number;
    BY_HAND(e->owners = 1;)
    TALLY_WRITE(e, left, left);
    TALLY_WRITE(e, right, right);
    return e;
}

static Expression *number(long value) { return new_expression(NUMBER, value, NULL, NULL); }
static Expression *sum_of(Expression *left, Expression *right) { return new_expression(SUM, 0, left, right); }
static Expression *product_of(Expression *left, Expression *right) { return new_expression(PRODUCT, 0, left, right); }
static Expression *power_of(Expression *base, long exponent) { return new_expression(POWER, exponent, base, NULL); }
static Expression *function_of(long kind, Expression *argument) { return new_expression(kind, 0, argument, NULL); }

static int is_number(Expression *e, long value) { return e->kind == NUMBER && e->number == value; }

static int are_equal(Expression *one, Expression *other) {
    if (one == other) return 1;
    if (!one || !other || one->kind != other->kind || one->number != other->number) return 0;
    TALLY_ROOT(one, other);
    return are_equal(one->left, other->left) && are_equal(one->right, other->right);
}

static long wrapped(uint64_t value) { return (long)(value << 20) >> 20; }

static Expression *derivative(Expression *e, long variable) {
    TALLY_ROOT(e);
    Expression *inner = NULL, *outer = NULL;
    TALLY_ROOT(inner, outer);
    switch (e->kind) {
    case NUMBER: return number(0);
    case VARIABLE: return number(e->number == variable);
    case SUM:
        inner = derivative(e->left, variable);
        outer = derivative(e->right, variable);
        return sum_of(inner, outer);
    case PRODUCT:
        inner = derivative(e->left, variable);
        inner = product_of(inner, keep(e->right));
        outer = derivative(e->right, variable);
        outer = product_of(keep(e->left), outer);
        return sum_of(inner, outer);
    case POWER:
        inner = power_of(keep(e->left), e->number - 1);
        outer = number(e->number);
        outer = product_of(outer, inner);
        break;
    case SINE: outer = function_of(COSINE, keep(e->left)); break;
    case COSINE:
        inner = function_of(SINE, keep(e->left));
        outer = number(-1);
        outer = product_of(outer, inner);
        break;
    default: outer = keep(e); break;
    }
    inner = derivative(e->left, variable);
    return product_of(outer, inner);
}

/* `e` with another expression in the place of a variable. Parts without that variable are shared. */
static Expression *substituted(Expression *e, long variable, Expression *other) {
    TALLY_ROOT(e, other);
    if (e->kind == NUMBER) return keep(e);
    if (e->kind == VARIABLE) return keep(e->number == variable ? other : e);
    Expression *left = substituted(e->left, variable, other), *right = NULL;
    TALLY_ROOT(left, right);
    if (e->right) right = substituted(e->right, variable, other);
    if (left != e->left || right != e->right) return new_expression(e->kind, e->number, left, right);
    release(left);
    release(right);
    return keep(e);
}

/* The sum or product, by one rule; or null if none applies. Both parts are still the caller's. */
static Expression *simpler_sum(Expression *left, Expression *right) {
    TALLY_ROOT(left, right);
    if (is_number(left, 0)) return keep(right);
    if (is_number(right, 0)) return keep(left);
    if (left->kind == NUMBER && right->kind == NUMBER) return number(wrapped(left->number + right->number));
    if (right->kind == NUMBER) return sum_of(keep(right), keep(left));
    if (left->kind == NUMBER && right->kind == SUM && right->left->kind == NUMBER) {
        Expression *both = number(wrapped(left->number + right->left->number));
        return sum_of(both, keep(right->right));
    }
    if (left->kind == SUM) {
        Expression *rest = sum_of(keep(left->right), keep(right));
        return sum_of(keep(left->left), rest);
    }
    if (are_equal(left, right)) {
        Expression *two = number(2);
        return product_of(two, keep(left));
    }
    return NULL;
}

static Expression *simpler_product(Expression *left, Expression *right) {
    TALLY_ROOT(left, right);
    if (is_number(left, 0) || is_number(right, 0)) return number(0);
    if (is_number(left, 1)) return keep(right);
    if (is_number(right, 1)) return keep(left);
    if (left->kind == NUMBER && right->kind == NUMBER) return number(wrapped((uint64_t)left->number * (uint64_t)right->number));
    if (right->kind == NUMBER) return product_of(keep(right), keep(left));
    if (left->kind == NUMBER && right->kind == PRODUCT && right->left->kind == NUMBER) {
        Expression *both = number(wrapped((uint64_t)left->number * (uint64_t)right->left->number));
        return product_of(both, keep(right->right));
    }
    if (left->kind == PRODUCT) {
        Expression *rest = product_of(keep(left->right), keep(right));
        return product_of(keep(left->left), rest);
    }
    if (are_equal(left, right)) return power_of(keep(left), 2);
    if (left->kind == POWER && are_equal(left->left, right)) return power_of(keep(right), left->number + 1);
    if (right->kind == POWER && are_equal(left, right->left)) return power_of(keep(left), right->number + 1);
    return NULL;
}

static Expression *simpler_function(long kind, long exponent, Expression *argument) {
    TALLY_ROOT(argument);
    if (kind == POWER) {
        if (exponent == 0) return number(1);
        if (exponent == 1) return keep(argument);
        if (argument->kind == POWER) return power_of(keep(argument->left), argument->number * exponent);
        if (is_number(argument, 0) || is_number(argument, 1)) return keep(argument);
        return NULL;
    }
    if (!is_number(argument, 0)) return NULL;
    return number(kind != SINE);
}

/* An expression that is equal to `e`, and the same one if no rule applies. */
static Expression *simplified(Expression *e) {
    TALLY_ROOT(e);
    if (e->kind == NUMBER || e->kind == VARIABLE) return keep(e);
    Expression *left = simplified(e->left), *right = NULL, *simpler = NULL;
    TALLY_ROOT(left, right, simpler);
    if (e->right) right = simplified(e->right);
    if (e->kind == SUM)
        simpler = simpler_sum(left, right);
    else if (e->kind == PRODUCT)
        simpler = simpler_product(left, right);
    else
        simpler = simpler_function(e->kind, e->number, left);
    if (!simpler) {
        if (left != e->left || right != e->right) return new_expression(e->kind, e->number, left, right);
        simpler = keep(e);
    }
    release(left);
    release(right);
    return simpler;
}

static Expression *simplest(Expression *e, int passes) {
    TALLY_ROOT(e);
    while (passes-- > 0) {
        Expression *simpler = simplified(e);
        TALLY_ROOT(simpler);
        int is_same = simpler == e;
        release(e);
        e = simpler;
        if (is_same) break;
    }
    return e;
}

static Expression *random_expression(int depth) {
    uint32_t choice = depth > 0 ? random_below(12) : 12 + random_below(3);
    if (choice == 12) return number((long)random_below(7) - 2);
    if (choice > 10) return new_expression(VARIABLE, random_below(VARIABLES), NULL, NULL);
    Expression *left = random_expression(depth - 1), *right = NULL;
    TALLY_ROOT(left, right);
    if (choice < 7) {
        right = random_expression(depth - 1);
        return choice < 4 ? sum_of(left, right) : product_of(left, right);
    }
    return choice == 7 ? power_of(left, 2 + random_below(3)) : function_of(SINE + (choice - 8), left);
}

static void print(Builder *out, Expression *e) {
    static const char *const before[] = {"", "", "(", "(", "(", "sin(", "cos(", "exp("};
    TALLY_ROOT(out, e);
    if (e->kind == NUMBER) {
        add_number(out, e->number);
    } else if (e->kind == VARIABLE) {
        add_bytes(out, &"xyz"[e->number], 1);
    } else {
        add_words(out, before[e->kind]);
        print(out, e->left);
        if (e->kind == SUM) add_words(out, " + ");
        if (e->kind == PRODUCT) add_words(out, " * ");
        if (e->right) print(out, e->right);
        add_words(out, ")");
        if (e->kind == POWER) add_words(out, "^"), add_number(out, e->number);
    }
}

static long size_of(Expression *e) {
    TALLY_ROOT(e);
    long size = 1;
    if (e->left) size += size_of(e->left);
    if (e->right) size += size_of(e->right);
    return size;
}

/* A new problem's result; it may contain that of an older problem, if there is one. */
static Expression *solved(Expression *older, int depth) {
    TALLY_ROOT(older);
    Expression *e = random_expression(depth), *next = NULL;
    TALLY_ROOT(e, next);
    if (older && random_below(4) == 0) {
        next = substituted(e, random_below(VARIABLES), older);
        release(e);
        e = next;
    }
    for (int times = 0; times < 2; times++) {
        next = derivative(e, random_below(VARIABLES));
        release(e);
        e = simplest(next, 40);
    }
    return e;
}

static uint64_t simplify(long size) {
    Results *results = TALLY_NEW_ARRAY(Results, KEPT);
    TALLY_ROOT(results);
    uint64_t sum = 0;
    for (long problem = 0; problem < size; problem++) {
        Expression *older = results->at[random_below(KEPT)];
        TALLY_ROOT(older);
        if (older && size_of(older) > 200) older = NULL;
        Expression *result = solved(older, size < 20 ? 3 : 5);
        TALLY_ROOT(result);
        Builder *out = new_builder(64);
        TALLY_ROOT(out);
        print(out, result);
        Text *text = finished(out);
        TALLY_ROOT(text);
        sum = mix(sum, hash_of(text->bytes, text->length));
        FREE(text);
        release(results->at[problem % KEPT]);
        TALLY_WRITE(results, at[problem % KEPT], result);
        tick();
    }
    return sum;
}
PROGRAM(simplify, 20000, 100, 10)
