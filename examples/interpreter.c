/* An interpreter for a small Lisp: reader, evaluator, closures, on the collected heap from the symbols to the scopes.
 *
 * A closure refers to the scope it was made in, and the scope to the closure that a `define` put there: every call of a function
 * with a local function leaves a garbage cycle behind, which is why interpreters with reference counts need a cycle collector.
 * Shows tagged words (small integers in the word itself), roots in a deeply recursive program, objects of many types, and global
 * roots: the symbol table and the outermost scope.
 *
 *     tally run examples/interpreter.c                   the program below
 *     tally run examples/interpreter.c -- FILE.lisp      one of your own
 *
 * Forms: quote if define set! lambda let begin. Functions: + - * < = eq? cons car cdr set-car! set-cdr! pair? null? not print.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>

static const char *program =
    "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"
    "(print (quote fib) (fib 20))"
    ""
    "(define (list-to n) (define (go i rest) (if (= i 0) rest (go (- i 1) (cons i rest)))) (go n (quote ())))"
    "(define (map f list) (if (null? list) list (cons (f (car list)) (map f (cdr list)))))"
    "(define (fold f start list) (if (null? list) start (fold f (f start (car list)) (cdr list))))"
    "(define (compose f g) (lambda (x) (f (g x))))"
    "(print (map (compose (lambda (x) (* x x)) (lambda (x) (+ x 1))) (list-to 10)))"
    ""
    "(define (counter n) (lambda () (set! n (+ n 1)) n))" /* a closure over a variable that changes */
    "(let ((a (counter 0)) (b (counter 100))) (a) (a) (b) (print (quote counters) (a) (b)))"
    ""
    /* Two functions that know each other, local to a call: scope -> closure -> scope. A new pair for each n. */
    "(define (parity n)"
    "  (define (even n) (if (= n 0) (quote even) (odd (- n 1))))"
    "  (define (odd n) (if (= n 0) (quote odd) (even (- n 1))))"
    "  (even n))"
    "(print (map parity (list-to 6)))"
    ""
    /* An account is a closure that knows itself, and its partner: cycles across scopes. */
    "(define (account balance)"
    "  (define partner (quote nobody))"
    "  (define (self what x)"
    "    (if (eq? what (quote partner)) (begin (set! partner x) self)"
    "    (if (eq? what (quote pay)) (begin (set! balance (- balance x)) (partner (quote take) x))"
    "    (if (eq? what (quote take)) (begin (set! balance (+ balance x)) balance)"
    "    balance))))"
    "  self)"
    "(define (trade rounds)"
    "  (let ((a (account 100)) (b (account 0)))"
    "    (a (quote partner) b) (b (quote partner) a)"
    "    (define (go i) (if (= i 0) (quote done) (begin (a (quote pay) 3) (b (quote pay) 1) (go (- i 1)))))"
    "    (go rounds)"
    "    (cons (a (quote balance) 0) (b (quote balance) 0))))"
    "(define (many n last) (if (= n 0) last (many (- n 1) (trade 5))))"
    "(print (quote accounts) (many 400 0))"
    ""
    /* A list that bites its tail, walked for a while. */
    "(define ring (list-to 5))"
    "(define (last list) (if (null? (cdr list)) list (last (cdr list))))"
    "(set-cdr! (last ring) ring)"
    "(define (walk list n sum) (if (= n 0) sum (walk (cdr list) (- n 1) (+ sum (car list)))))"
    "(print (quote ring) (walk ring 10000 0))"
    ""
    /* A stream: a pair of a number and a promise of the rest. */
    "(define (from n) (cons n (lambda () (from (+ n 1)))))"
    "(define (filter keep s) (if (keep (car s)) (cons (car s) (lambda () (filter keep ((cdr s))))) (filter keep ((cdr s)))))"
    "(define (take n s) (if (= n 0) (quote ()) (cons (car s) (if (= n 1) (quote ()) (take (- n 1) ((cdr s)))))))"
    "(define (remainder a b) (if (< a b) a (remainder (- a b) b)))"
    "(define (sieve s) (cons (car s) (lambda () (sieve (filter (lambda (x) (not (= 0 (remainder x (car s))))) ((cdr s)))))))"
    "(print (quote primes) (take 20 (sieve (from 2))))";

/* ---- Values: a word is a reference (low three bits 0), a small integer (1), a primitive function (3), or special (2) ---- */

typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 7, 0, ~(uint64_t)7);
#define NIL ((Value)0)
#define FALSE ((Value)2)
#define TRUE ((Value)10)
#define TRUTH(condition) ((condition) ? TRUE : FALSE)
#define INTEGER(number) ((Value)(number) << 3 | 1)
#define AS_INTEGER(value) ((int64_t)(value) >> 3)
#define IS_INTEGER(value) (((value)&7) == 1)
#define PRIMITIVE(index) ((Value)(index) << 3 | 3)
#define IS_PRIMITIVE(value) (((value)&7) == 3)
#define REFERENCE(object) ((Value)(object))
#define IS(value, sort) ((value) != NIL && ((value)&7) == 0 && *(uint64_t *)(value) == (sort))
#define IS_PAIR(value) IS(value, SORT_PAIR)
#define IS_SYMBOL(value) IS(value, SORT_SYMBOL)
#define IS_CLOSURE(value) IS(value, SORT_CLOSURE)

enum { SORT_PAIR, SORT_SYMBOL, SORT_CLOSURE, SORT_SCOPE };

typedef struct Pair {
    uint64_t sort;
    Value first, rest;
} Pair;
TALLY_TYPE_TAGGED(Pair, Value, first, rest);
#define PAIR(value) ((Pair *)(value))
#define FIRST(value) (PAIR(value)->first)
#define REST(value) (PAIR(value)->rest)

typedef struct Closure {
    uint64_t sort;
    Value parameters, body, scope;
} Closure;
TALLY_TYPE_TAGGED(Closure, Value, parameters, body, scope);
#define CLOSURE(value) ((Closure *)(value))

/* A scope: its names and, side by side, their values; and the scope around it. */
typedef struct Scope {
    uint64_t sort;
    Value names, values, outer;
} Scope;
TALLY_TYPE_TAGGED(Scope, Value, names, values, outer);
#define SCOPE(value) ((Scope *)(value))

enum { NO_FORM, FORM_QUOTE, FORM_IF, FORM_DEFINE, FORM_SET, FORM_LAMBDA, FORM_LET, FORM_BEGIN, FORMS };
static const char *const form_names[FORMS] = {"", "quote", "if", "define", "set!", "lambda", "let", "begin"};

typedef struct Symbol {
    uint64_t sort, form;
    struct Symbol *next;
    uint64_t length;
    char name[];
} Symbol;
TALLY_DATA_ARRAY_TYPE(Symbol, length, name, next);
#define SYMBOL(value) ((Symbol *)(value))

static Symbol *symbols; /* all symbols: a name stands for one object, so that names compare by address */
static Scope *globals;

static _Noreturn void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fflush(stdout);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static Value cons(Value first, Value rest) {
    TALLY_ROOT_TAGGED(Value, first, rest);
    Pair *pair = TALLY_NEW(Pair);
    pair->sort = SORT_PAIR;
    TALLY_WRITE_TAGGED(pair, first, first);
    TALLY_WRITE_TAGGED(pair, rest, rest);
    return REFERENCE(pair);
}

static Value intern(const char *name, size_t length) {
    Symbol *symbol = symbols;
    TALLY_ROOT(symbol);
    while (symbol && (symbol->length != length || memcmp(symbol->name, name, length) != 0)) symbol = symbol->next;
    if (symbol) return REFERENCE(symbol);

    symbol = TALLY_NEW_ARRAY(Symbol, length);
    symbol->sort = SORT_SYMBOL;
    symbol->form = NO_FORM;
    for (size_t i = 0; i < length; i++) symbol->name[i] = name[i];
    for (int form = 1; form < FORMS; form++)
        if (strlen(form_names[form]) == length && memcmp(form_names[form], name, length) == 0) symbol->form = form;
    TALLY_WRITE(symbol, next, symbols);
    TALLY_WRITE_GLOBAL(symbols, symbol);
    return REFERENCE(symbol);
}

/* ---- Reader: text to lists ------------------------------------------------------------------------------------------ */

/* The next token, of `*length` characters: a parenthesis or a word. Empty at the end of the text. */
static const char *token(const char **text, size_t *length) {
    const char *start = *text + strspn(*text, " \t\r\n");
    *length = *start == '(' || *start == ')' ? 1 : strcspn(start, " \t\r\n()");
    *text = start + *length;
    return start;
}

static Value read_list(const char **text);

static Value read_word(const char *word, size_t length) {
    char *end;
    long number = strtol(word, &end, 10);
    if (end == word + length) return INTEGER(number);
    return intern(word, length);
}

/* The rest of a list whose opening parenthesis has been read. */
static Value read_list(const char **text) {
    size_t length;
    const char *word = token(text, &length);
    if (length == 0) fail("the text ends inside a list");
    if (*word == ')') return NIL;
    Value first = *word == '(' ? read_list(text) : read_word(word, length);
    TALLY_ROOT_TAGGED(Value, first);
    Value rest = read_list(text);
    return cons(first, rest);
}

/* ---- Scopes --------------------------------------------------------------------------------------------------------- */

static Value new_scope(Value names, Value values, Value outer) {
    TALLY_ROOT_TAGGED(Value, names, values, outer);
    Scope *scope = TALLY_NEW(Scope);
    scope->sort = SORT_SCOPE;
    TALLY_WRITE_TAGGED(scope, names, names);
    TALLY_WRITE_TAGGED(scope, values, values);
    TALLY_WRITE_TAGGED(scope, outer, outer);
    return REFERENCE(scope);
}

/* The pair whose first is the value of `name`. */
static Pair *place_of(Value name, Value scope) {
    for (; scope != NIL; scope = SCOPE(scope)->outer) {
        Value value = SCOPE(scope)->values;
        for (Value names = SCOPE(scope)->names; names != NIL; names = REST(names), value = REST(value)) {
            if (value == NIL) fail("too few arguments");
            if (FIRST(names) == name) return PAIR(value);
        }
    }
    fail("%.*s is not defined", (int)SYMBOL(name)->length, SYMBOL(name)->name);
}

static void define(Value name, Value value, Value in) {
    Scope *scope = SCOPE(in);
    TALLY_ROOT(scope);
    TALLY_ROOT_TAGGED(Value, name);
    Value values = cons(value, scope->values);
    TALLY_WRITE_TAGGED(scope, values, values);
    Value names = cons(name, scope->names);
    TALLY_WRITE_TAGGED(scope, names, names);
}

/* ---- Primitive functions -------------------------------------------------------------------------------------------- */

static void print(Value value, int depth) {
    TALLY_ROOT_TAGGED(Value, value);
    if (IS_INTEGER(value))
        printf("%ld", (long)AS_INTEGER(value));
    else if (IS_SYMBOL(value))
        printf("%.*s", (int)SYMBOL(value)->length, SYMBOL(value)->name);
    else if (value == TRUE || value == FALSE)
        printf(value == TRUE ? "true" : "false");
    else if (IS_PRIMITIVE(value) || IS_CLOSURE(value))
        printf("<function>");
    else if (depth == 0)
        printf("...");
    else {
        printf("(");
        for (; IS_PAIR(value); value = REST(value)) {
            print(FIRST(value), depth - 1);
            if (REST(value) != NIL) printf(" ");
        }
        if (value != NIL) printf(". "), print(value, depth - 1);
        printf(")");
    }
}

static Value print_all(Value arguments) {
    TALLY_ROOT_TAGGED(Value, arguments);
    for (; arguments != NIL; arguments = REST(arguments)) {
        print(FIRST(arguments), 8);
        printf(REST(arguments) == NIL ? "\n" : " ");
    }
    return NIL;
}

typedef enum {
    ADD, SUBTRACT, MULTIPLY, LESS, EQUAL, EQ, CONS, CAR, CDR, SET_CAR, SET_CDR, IS_A_PAIR, IS_NULL, NOT, PRINT, PRIMITIVES
} Primitive;
static const struct {
    const char *name;
    signed char arity; /* -1: any */
    char sort;  /* of the first argument: 'i' integers, 'p' a pair, 0 anything */
} primitives[PRIMITIVES] = {
    [ADD] = {"+", 2, 'i'},           [SUBTRACT] = {"-", 2, 'i'},       [MULTIPLY] = {"*", 2, 'i'},
    [LESS] = {"<", 2, 'i'},          [EQUAL] = {"=", 2, 'i'},          [EQ] = {"eq?", 2, 0},
    [CONS] = {"cons", 2, 0},         [CAR] = {"car", 1, 'p'},          [CDR] = {"cdr", 1, 'p'},
    [SET_CAR] = {"set-car!", 2, 'p'}, [SET_CDR] = {"set-cdr!", 2, 'p'}, [IS_A_PAIR] = {"pair?", 1, 0},
    [IS_NULL] = {"null?", 1, 0},     [NOT] = {"not", 1, 0},            [PRINT] = {"print", -1, 0},
};

static Value apply_primitive(Primitive primitive, Value arguments) {
    TALLY_ROOT_TAGGED(Value, arguments);
    int count = 0;
    for (Value a = arguments; a != NIL; a = REST(a)) count++;
    if (primitives[primitive].arity >= 0 && count != primitives[primitive].arity)
        fail("%s wants %d arguments, not %d", primitives[primitive].name, primitives[primitive].arity, count);
    Value a = count > 0 ? FIRST(arguments) : NIL, b = count > 1 ? FIRST(REST(arguments)) : NIL;
    TALLY_ROOT_TAGGED(Value, a, b);
    if (primitives[primitive].sort == 'i' && !(IS_INTEGER(a) && IS_INTEGER(b))) fail("%s wants numbers", primitives[primitive].name);
    if (primitives[primitive].sort == 'p' && !IS_PAIR(a)) fail("%s wants a pair", primitives[primitive].name);
    switch (primitive) {
    case ADD: return INTEGER(AS_INTEGER(a) + AS_INTEGER(b));
    case SUBTRACT: return INTEGER(AS_INTEGER(a) - AS_INTEGER(b));
    case MULTIPLY: return INTEGER(AS_INTEGER(a) * AS_INTEGER(b));
    case LESS: return TRUTH(AS_INTEGER(a) < AS_INTEGER(b));
    case EQUAL: return TRUTH(a == b);
    case EQ: return TRUTH(a == b);
    case CONS: return cons(a, b);
    case CAR: return FIRST(a);
    case CDR: return REST(a);
    case SET_CAR: TALLY_WRITE_TAGGED(PAIR(a), first, b); return NIL;
    case SET_CDR: TALLY_WRITE_TAGGED(PAIR(a), rest, b); return NIL;
    case IS_A_PAIR: return TRUTH(IS_PAIR(a));
    case IS_NULL: return TRUTH(a == NIL);
    case NOT: return TRUTH(a == FALSE);
    case PRINT: return print_all(arguments);
    case PRIMITIVES: break;
    }
    fail("no such function");
}

/* ---- Evaluator ------------------------------------------------------------------------------------------------------ */

static Value eval(Value expression, Value scope);

static Value eval_each(Value expressions, Value scope) {
    if (expressions == NIL) return NIL;
    TALLY_ROOT_TAGGED(Value, expressions, scope);
    Value first = eval(FIRST(expressions), scope);
    TALLY_ROOT_TAGGED(Value, first);
    Value rest = eval_each(REST(expressions), scope);
    return cons(first, rest);
}

/* Evaluates all but the last of a body and returns the last, which the caller's loop goes on with: that makes tail calls free. */
static Value eval_to_last(Value body, Value scope) {
    TALLY_ROOT_TAGGED(Value, body, scope);
    if (body == NIL) return NIL;
    for (; REST(body) != NIL; body = REST(body)) eval(FIRST(body), scope);
    return FIRST(body);
}

static Value new_closure(Value parameters, Value body, Value scope) {
    TALLY_ROOT_TAGGED(Value, parameters, body, scope);
    Closure *closure = TALLY_NEW(Closure);
    closure->sort = SORT_CLOSURE;
    TALLY_WRITE_TAGGED(closure, parameters, parameters);
    TALLY_WRITE_TAGGED(closure, body, body);
    TALLY_WRITE_TAGGED(closure, scope, scope);
    return REFERENCE(closure);
}

/* (define name value), or (define (name parameters…) body…). `form` is what follows the word. */
static void eval_define(Value form, Value scope) {
    Value name = FIRST(form), value = NIL;
    TALLY_ROOT_TAGGED(Value, form, scope, name, value);
    if (IS_PAIR(name)) {
        value = new_closure(REST(name), REST(form), scope);
        name = FIRST(name);
    } else {
        value = eval(FIRST(REST(form)), scope);
    }
    define(name, value, scope);
}

/* The scope of (let ((name value)…) body…). */
static Value eval_let(Value bindings, Value scope) {
    Value inner = new_scope(NIL, NIL, scope);
    TALLY_ROOT_TAGGED(Value, bindings, scope, inner);
    for (; bindings != NIL; bindings = REST(bindings)) {
        Value value = eval(FIRST(REST(FIRST(bindings))), scope);
        define(FIRST(FIRST(bindings)), value, inner);
    }
    return inner;
}

static Value eval(Value expression, Value scope) {
    Value callee = NIL, arguments = NIL;
    TALLY_ROOT_TAGGED(Value, expression, scope, callee, arguments);
    for (;;) {
        if (IS_SYMBOL(expression)) return place_of(expression, scope)->first;
        if (!IS_PAIR(expression)) return expression;
        Value head = FIRST(expression);
        switch (IS_SYMBOL(head) ? SYMBOL(head)->form : NO_FORM) {
        case FORM_QUOTE: return FIRST(REST(expression));
        case FORM_LAMBDA: return new_closure(FIRST(REST(expression)), REST(REST(expression)), scope);
        case FORM_DEFINE: eval_define(REST(expression), scope); return NIL;
        case FORM_SET: {
            Value value = eval(FIRST(REST(REST(expression))), scope);
            TALLY_ROOT_TAGGED(Value, value);
            Pair *place = place_of(FIRST(REST(expression)), scope);
            TALLY_WRITE_TAGGED(place, first, value);
            return NIL;
        }
        case FORM_IF: {
            Value condition = eval(FIRST(REST(expression)), scope), branches = REST(REST(expression));
            expression = condition != FALSE ? FIRST(branches) : REST(branches) != NIL ? FIRST(REST(branches)) : NIL;
            continue;
        }
        case FORM_BEGIN: expression = eval_to_last(REST(expression), scope); continue;
        case FORM_LET:
            scope = eval_let(FIRST(REST(expression)), scope);
            expression = eval_to_last(REST(REST(expression)), scope);
            continue;
        }
        callee = eval(head, scope);
        arguments = eval_each(REST(expression), scope);
        if (IS_PRIMITIVE(callee)) return apply_primitive(callee >> 3, arguments);
        if (!IS_CLOSURE(callee)) fail("not a function");
        scope = new_scope(CLOSURE(callee)->parameters, arguments, CLOSURE(callee)->scope);
        expression = eval_to_last(CLOSURE(callee)->body, scope);
    }
}

static char *contents_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("cannot open %s", path);
    size_t length = 0, room = 4096;
    char *text = malloc(room + 1);
    for (size_t n; (n = fread(text + length, 1, room - length, file)) > 0;)
        if ((length += n) == room) text = realloc(text, (room *= 2) + 1);
    fclose(file);
    text[length] = 0;
    return text;
}

int main(int count, char **arguments) {
    char *file = count > 1 ? contents_of(arguments[1]) : NULL;
    const char *text = file ? file : program;

    Scope *outermost = SCOPE(new_scope(NIL, NIL, NIL));
    TALLY_WRITE_GLOBAL(globals, outermost);
    for (int i = 0; i < PRIMITIVES; i++) {
        Value name = intern(primitives[i].name, strlen(primitives[i].name));
        define(name, PRIMITIVE(i), REFERENCE(globals));
    }
    size_t length;
    for (const char *word; word = token(&text, &length), length > 0;) {
        if (*word == ')') fail("a parenthesis too many");
        Value expression = *word == '(' ? read_list(&text) : read_word(word, length);
        eval(expression, REFERENCE(globals));
    }

    TALLY_WRITE_GLOBAL(globals, NULL);
    TALLY_WRITE_GLOBAL(symbols, NULL);
    free(file);
}
