/* Tiny in C: a compiler that writes LLVM IR as text, and links nothing of LLVM or Tally.
 *
 *     clang-22 examples/frontends/text.c -o tiny && ./tiny examples/frontends/program.tiny > program.ll
 *     tally run program.ll examples/frontends/runtime.c          (or tally build … -o program)
 *
 * The IR follows docs/port/ir-contract.md: types are metadata, a function names its strategy, what is used after a call is in a root, and
 * words that may be references are stored by tally_gcwrite_i64. `try` is an invoke with a landing pad.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prelude[] =
    "@Cell = external constant i8\n@Text = external constant i8\n@Function = external constant i8\n@Word = external constant i8\n"
    "!tally.types = !{!0, !1, !2, !3}\n"
    "!0 = !{ptr @Cell, !\"size\", i64 24, !\"slots\", !\"tagged\", !\"tag_mask\", i64 1, !\"tag_pattern\", i64 0, !\"pointer_mask\", i64 -8,\n"
    "       !\"refs\", !{i32 8, i32 16}, !\"fields\", !{i32 0, !\"kind\", i32 8, !\"head\", i32 16, !\"tail\"}}\n"
    "!1 = !{ptr @Text, !\"size\", i64 16, !\"length\", i64 8, !\"stride\", i64 1}\n"
    "!2 = !{ptr @Function, !\"size\", i64 32, !\"length\", i64 24, !\"stride\", i64 8, !\"element_refs\", !{i32 0},\n"
    "       !\"slots\", !\"tagged\", !\"tag_mask\", i64 1, !\"tag_pattern\", i64 0, !\"pointer_mask\", i64 -8}\n"
    "!3 = !{ptr @Word, !\"size\", i64 8, !\"slots\", !\"tagged\", !\"tag_mask\", i64 1, !\"tag_pattern\", i64 0, !\"pointer_mask\", i64 -8,\n"
    "       !\"refs\", !{i32 0}, !\"linkage\", !\"internal\"}\n"
    "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\ndeclare void @tally_gcwrite_i64(i64, ptr, ptr)\n"
    "declare ptr @tally_new(ptr)\ndeclare ptr @tally_new_array(ptr, i64)\n"
    "declare i64 @tiny_text(ptr, i64)\ndeclare i64 @tiny_print(i64)\ndeclare i64 @tiny_join(i64, i64)\ndeclare i64 @tiny_live()\n"
    "declare i64 @tiny_cell(i64)\ndeclare i64 @tiny_number(i64)\ndeclare ptr @tiny_code(i64, i64)\ndeclare i64 @tiny_error(i64)\n"
    "declare i64 @tiny_raised()\ndeclare i32 @__gcc_personality_v0(...)\n@tiny_make_text = external global ptr\n"
    "define ptr @make_text(i64 %n) gc \"refcount\" {\n"
    "  %text = call ptr @tally_new_array(ptr @Text, i64 %n)\n  store i64 2, ptr %text\n  ret ptr %text\n}\n";

/* The roots hold what is used after a call; the handler is read from its root behind the landing pad. */
static const char try_function[] =
    "define i64 @tiny_try(i64 %function, i64 %handler) gc \"refcount\" personality ptr @__gcc_personality_v0 {\n"
    "  %run = alloca i64\n  call void @llvm.gcroot(ptr %run, ptr @Word)\n  store i64 %function, ptr %run\n"
    "  %handle = alloca i64\n  call void @llvm.gcroot(ptr %handle, ptr @Word)\n  store i64 %handler, ptr %handle\n"
    "  %error = alloca i64\n  call void @llvm.gcroot(ptr %error, ptr @Word)\n"
    "  %code = call ptr @tiny_code(i64 %function, i64 0)\n  %kept = load i64, ptr %run\n"
    "  %value = invoke i64 %code(i64 %kept) to label %done unwind label %caught\n"
    "done:\n  ret i64 %value\n"
    "caught:\n  %pad = landingpad { ptr, i32 } cleanup\n  %raised = call i64 @tiny_raised()\n  store i64 %raised, ptr %error\n"
    "  %h = load i64, ptr %handle\n  %handler.code = call ptr @tiny_code(i64 %h, i64 1)\n"
    "  %again = load i64, ptr %handle\n  %e = load i64, ptr %error\n"
    "  %result = call i64 %handler.code(i64 %again, i64 %e)\n  ret i64 %result\n}\n";

static void fail(const char *what, const char *name) {
    fprintf(stderr, "tiny: %s%s\n", what, name);
    exit(2);
}

/* ---- The reader ----------------------------------------------------------------------------------------------------------- */

typedef struct Form {
    enum { NUMBER, TEXT, NAME, LIST } kind;
    char *text;          /* of all but a list */
    struct Form *first;  /* of a list */
    struct Form *next;
} Form;

static const char *rest;

static Form *read_form(void) { /* null: the end of the list, or of the file */
    while (isspace((unsigned char)*rest) || *rest == ';') rest += *rest == ';' ? strcspn(rest, "\n") : 1;
    if (!*rest || *rest == ')') return NULL;
    Form *form = calloc(1, sizeof *form);
    if (*rest == '(') {
        form->kind = LIST;
        rest++;
        for (Form **last = &form->first; (*last = read_form()); last = &(*last)->next) {}
        if (*rest++ != ')') fail("a bracket is missing", "");
        return form;
    }
    int is_text = *rest == '"';
    size_t length = is_text ? strcspn(rest + 1, "\"") : strcspn(rest, " \t\n();\"");
    form->text = strndup(rest + is_text, length);
    rest += length + 2 * is_text;
    char *end;
    strtol(form->text, &end, 10);
    form->kind = is_text ? TEXT : *end ? NAME : NUMBER;
    return form;
}

static int count(const Form *form) { return form ? 1 + count(form->next) : 0; }

/* ---- The compiler --------------------------------------------------------------------------------------------------------- */

/* An operand as IR has it: a number, or %t7. */
typedef struct { char text[32]; } Value;
typedef struct { const char *name; Value slot; } Variable;
enum { MANY = 64 };

typedef struct Function {
    FILE *out; /* its IR, which is written out behind that of the functions in it */
    char *ir;
    size_t size;
    int block; /* the one that is being written */
    Variable variables[MANY];
    const char *captured[MANY];
    int variable_count, captured_count;
    struct Function *outer;
} Function;

static const char *globals[MANY];
static int global_count, numbered; /* values, blocks, functions, texts */

static Value compile(Function *in, Form *form);

#define emit(in, format, ...) fprintf((in)->out, "  " format "\n", __VA_ARGS__)

/* Emits `%tN = …`; the format is of what stands behind the sign. */
static Value define(Function *in, const char *format, ...) {
    Value value;
    snprintf(value.text, sizeof value.text, "%%t%d", ++numbered);
    va_list arguments;
    va_start(arguments, format);
    fprintf(in->out, "  %s = ", value.text);
    vfprintf(in->out, format, arguments);
    fputc('\n', in->out);
    va_end(arguments);
    return value;
}

static Value constant(long value) {
    Value number;
    return snprintf(number.text, sizeof number.text, "%ld", value), number;
}

/* A variable that keeps a word alive. It may stand in any block. */
static Value root(Function *in, Value value) {
    Value slot = define(in, "alloca i64");
    emit(in, "call void @llvm.gcroot(ptr %s, ptr @Word)", slot.text);
    emit(in, "store i64 %s, ptr %s", value.text, slot.text);
    return slot;
}

static Value load(Function *in, Value slot) { return define(in, "load i64, ptr %s", slot.text); }

/* Reads a root for the last time. Without the 0 it would hold its object until the function returns, under the prompt plan. */
static Value take(Function *in, Value slot) {
    Value value = load(in, slot);
    emit(in, "store i64 0, ptr %s", slot.text);
    return value;
}

static Value field(Function *in, Value object, long offset) {
    return define(in, "getelementptr i8, ptr %s, i64 %ld", object.text, offset);
}

static void write(Function *in, Value object, long offset, Value word) {
    Value slot = field(in, object, offset);
    emit(in, "call void @tally_gcwrite_i64(i64 %s, ptr %s, ptr %s)", word.text, object.text, slot.text);
}

static Value object_of(Function *in, Value word) { return define(in, "inttoptr i64 %s to ptr", word.text); }
/* A new cell; its address. */
static Value make_cell(Function *in, Value head, Value tail) {
    Value first = root(in, head), second = root(in, tail);
    Value cell = define(in, "call ptr @tally_new(ptr @Cell)");
    emit(in, "store i64 1, ptr %s", cell.text);
    write(in, cell, 8, take(in, first));
    write(in, cell, 16, take(in, second));
    return cell;
}

/* Compiles operands from left to right to roots, which hold them while those behind are computed. Returns their number. */
static int rooted(Function *in, Form *form, Value *roots) {
    int number = 0;
    for (; form; form = form->next) {
        if (number == MANY) fail("too many operands", "");
        roots[number++] = root(in, compile(in, form));
    }
    return number;
}

static int operands(Function *in, Form *form, Value *values) {
    int number = rooted(in, form, values);
    for (int i = 0; i < number; i++) values[i] = take(in, values[i]);
    return number;
}

/* Emits a call of a function by name or address. */
static Value call(Function *in, const char *function, const Value *values, int number) {
    Value result;
    snprintf(result.text, sizeof result.text, "%%t%d", ++numbered);
    fprintf(in->out, "  %s = call i64 %s(", result.text, function);
    for (int i = 0; i < number; i++) fprintf(in->out, "%si64 %s", i ? ", " : "", values[i].text);
    fputs(")\n", in->out);
    return result;
}

static Value apply(Function *in, Form *form) {
    Value values[MANY];
    int number = operands(in, form, values);
    if (number == 0) fail("() calls nothing", "");
    Value roots[MANY];
    for (int i = 0; i < number; i++) roots[i] = root(in, values[i]);
    Value code = define(in, "call ptr @tiny_code(i64 %s, i64 %d)", values[0].text, number - 1);
    for (int i = 0; i < number; i++) values[i] = take(in, roots[i]);
    return call(in, code.text, values, number);
}

/* The runtime has no roots: those of its caller hold the operands until it returns. */
static Value call_runtime(Function *in, const char *name, Form *form) {
    Value roots[MANY], values[MANY];
    int number = rooted(in, form, roots);
    for (int i = 0; i < number; i++) values[i] = load(in, roots[i]);
    char function[32];
    snprintf(function, sizeof function, "@tiny_%s", name);
    Value result = call(in, function, values, number);
    for (int i = 0; i < number; i++) emit(in, "store i64 0, ptr %s", roots[i].text);
    return result;
}

static int has(const Function *in, const char *name) {
    for (int i = in->variable_count; i-- > 0;)
        if (!strcmp(in->variables[i].name, name)) return i + 1;
    return 0;
}

/* Reads a variable; one of an outer function is captured in the function's own object, which is its first variable. */
static Value variable(Function *in, const char *name) {
    if (!strcmp(name, "nil")) return constant(0);
    int place = has(in, name);
    if (place) return load(in, in->variables[place - 1].slot);
    for (Function *outer = in->outer; outer; outer = outer->outer) {
        if (!has(outer, name)) continue;
        int i = 0;
        while (i < in->captured_count && strcmp(in->captured[i], name)) i++;
        if (i == MANY) fail("too many captured variables", "");
        if (i == in->captured_count) in->captured[in->captured_count++] = name;
        Value own = object_of(in, load(in, in->variables[0].slot));
        return load(in, field(in, own, 32 + 8 * i));
    }
    for (int i = 0; i < global_count; i++) {
        if (strcmp(globals[i], name)) continue;
        Value cell = define(in, "load ptr, ptr @\"global.%s\"", name);
        return load(in, field(in, cell, 8));
    }
    return fail("not defined: ", name), constant(0);
}

static void add_variable(Function *in, const char *name, Value word) {
    if (in->variable_count == MANY) fail("too many variables at ", name);
    Value slot = root(in, word);
    in->variables[in->variable_count++] = (Variable){name, slot};
}

static void begin(Function *in, Function *outer) {
    memset(in, 0, sizeof *in);
    in->out = open_memstream(&in->ir, &in->size);
    in->outer = outer;
}

static void end(Function *in, Value result) {
    emit(in, "ret i64 %s\n}", result.text);
    fclose(in->out);
    fputs(in->ir, stdout);
    free(in->ir);
}

static Value closure(Function *in, Form *parameters, Form *body) {
    Function inner;
    begin(&inner, in);
    int number = ++numbered, arity = count(parameters->first);
    fprintf(inner.out, "define i64 @fn.%d(i64 %%p0", number);
    for (int i = 1; i <= arity; i++) fprintf(inner.out, ", i64 %%p%d", i);
    fputs(") gc \"refcount\" {\nb0:\n", inner.out);
    add_variable(&inner, "(the function)", (Value){"%p0"});
    int place = 0;
    for (Form *it = parameters->first; it; it = it->next) {
        Value value;
        add_variable(&inner, it->text, (snprintf(value.text, sizeof value.text, "%%p%d", ++place), value));
    }
    end(&inner, compile(&inner, body));
    Value captured[MANY];
    for (int i = 0; i < inner.captured_count; i++) captured[i] = root(in, variable(in, inner.captured[i]));
    Value object = define(in, "call ptr @tally_new_array(ptr @Function, i64 %d)", inner.captured_count);
    emit(in, "store i64 3, ptr %s", object.text);
    emit(in, "store ptr @fn.%d, ptr %s", number, field(in, object, 8).text);
    emit(in, "store i64 %d, ptr %s", arity, field(in, object, 16).text);
    for (int i = 0; i < inner.captured_count; i++) write(in, object, 32 + 8 * i, take(in, captured[i]));
    return define(in, "ptrtoint ptr %s to i64", object.text);
}

static Value choose(Function *in, Form *condition, Form *yes, Form *no) {
    Value value = compile(in, condition), results[2];
    int blocks[3] = {numbered + 1, numbered + 2, numbered + 3}, ends[2];
    numbered += 3;
    Value is_true = define(in, "icmp ne i64 %s, 0", value.text);
    emit(in, "br i1 %s, label %%b%d, label %%b%d", is_true.text, blocks[0], blocks[1]);
    for (int i = 0; i < 2; i++) {
        fprintf(in->out, "b%d:\n", in->block = blocks[i]);
        results[i] = compile(in, i ? no : yes);
        ends[i] = in->block;
        emit(in, "br label %%b%d", blocks[2]);
    }
    fprintf(in->out, "b%d:\n", in->block = blocks[2]);
    return define(in, "phi i64 [ %s, %%b%d ], [ %s, %%b%d ]", results[0].text, ends[0], results[1].text, ends[1]);
}

static Value arithmetic(Function *in, char operator, Form *form) {
    Value values[MANY];
    operands(in, form, values);
    Value second = root(in, values[1]);
    Value left = define(in, "call i64 @tiny_number(i64 %s)", values[0].text);
    Value word = take(in, second);
    Value right = define(in, "call i64 @tiny_number(i64 %s)", word.text);
    if (operator == '<' || operator == '=')
        return define(in, "select i1 %s, i64 3, i64 0",
                      define(in, "icmp %s i64 %s, %s", operator == '<' ? "slt" : "eq", left.text, right.text).text);
    Value number = define(in, "%s i64 %s, %s", operator == '+' ? "add" : "sub", left.text, right.text);
    return define(in, "or i64 %s, 1", define(in, "shl i64 %s, 1", number.text).text);
}

static Value special(Function *in, Form *list) {
    const char *name = list->first->text;
    Form *a = list->first->next, *b = a ? a->next : NULL, *c = b ? b->next : NULL;
    int number = count(a);
    Value values[MANY];
    if (!strcmp(name, "fn") && number == 2) return closure(in, a, b);
    if (!strcmp(name, "if") && number == 3) return choose(in, a, b, c);
    if (!strcmp(name, "do") && number) {
        for (; a->next; a = a->next) compile(in, a);
        return compile(in, a);
    }
    if (!strcmp(name, "let") && number == 2 && count(a->first) == 2) {
        add_variable(in, a->first->text, compile(in, a->first->next));
        Value result = compile(in, b);
        emit(in, "store i64 0, ptr %s", in->variables[--in->variable_count].slot.text);
        return result;
    }
    if (!strcmp(name, "cons") && number == 2) {
        operands(in, a, values);
        return define(in, "ptrtoint ptr %s to i64", make_cell(in, values[0], values[1]).text);
    }
    if ((!strcmp(name, "head") || !strcmp(name, "tail")) && number == 1) {
        Value word = define(in, "call i64 @tiny_cell(i64 %s)", compile(in, a).text);
        return load(in, field(in, object_of(in, word), name[0] == 'h' ? 8 : 16));
    }
    if (!strcmp(name, "set-head") && number == 2) {
        operands(in, a, values);
        Value kept = root(in, values[1]);
        Value word = define(in, "call i64 @tiny_cell(i64 %s)", values[0].text);
        Value value = take(in, kept);
        write(in, object_of(in, word), 8, value);
        return value;
    }
    if (strchr("+-<=", name[0]) && !name[1] && number == 2) return arithmetic(in, name[0], a);
    static const char *const runtime[] = {"live", "print", "error", "join", "try"};
    static const int parameters[] = {0, 1, 1, 2, 2};
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, runtime[i]) && number == parameters[i]) return call_runtime(in, name, a);
    return apply(in, list->first);
}

/* Compiles a form; the result is in no root. */
static Value compile(Function *in, Form *form) {
    if (form->kind == NUMBER) return constant(strtol(form->text, NULL, 10) * 2 + 1);
    if (form->kind == NAME) return variable(in, form->text);
    if (form->kind == LIST) return form->first && form->first->kind == NAME ? special(in, form) : apply(in, form->first);
    int number = ++numbered;
    printf("@text.%d = private constant [%zu x i8] c\"%s\"\n", number, strlen(form->text), form->text);
    return define(in, "call i64 @tiny_text(ptr @text.%d, i64 %zu)", number, strlen(form->text));
}

/* A global root is a reference: to a cell with the value, which functions may name before it is there. */
static void define_global(Function *in, const char *name, Form *value) {
    if (global_count == MANY) fail("too many definitions at ", name);
    globals[global_count++] = name;
    printf("@\"global.%s\" = internal global ptr null\n", name);
    Value cell = make_cell(in, constant(0), constant(0));
    emit(in, "call void @llvm.gcwrite(ptr %s, ptr @\"global.%s\", ptr @\"global.%s\")", cell.text, name, name);
    Value word = compile(in, value);
    write(in, define(in, "load ptr, ptr @\"global.%s\"", name), 8, word);
}

int main(int argc, char **argv) {
    static char source[1 << 16];
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) fail("tiny FILE > program.ll", "");
    source[fread(source, 1, sizeof source - 1, file)] = 0;
    rest = source;
    fputs(prelude, stdout);
    fputs(try_function, stdout);
    Function program;
    begin(&program, NULL);
    fputs("define i32 @main() gc \"refcount\" {\nb0:\n  store ptr @make_text, ptr @tiny_make_text\n", program.out);
    for (Form *form; (form = read_form());) {
        Form *first = form->kind == LIST ? form->first : NULL;
        if (first && first->kind == NAME && !strcmp(first->text, "define") && count(first) == 3)
            define_global(&program, first->next->text, first->next->next);
        else
            compile(&program, form);
    }
    if (*rest) fail("a bracket too many", "");
    fputs("  ret i32 0\n}\n", program.out);
    fclose(program.out);
    fputs(program.ir, stdout);
}
