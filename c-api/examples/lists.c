/* A compiler over LLVM's C API, in a hundred lines: a language of lists, compiled by Tally and run in this process or linked.
 *
 *     lists OPTIONS "3000 list square sum 2 list sum" [EXECUTABLE]
 *
 * `N list` makes the list of 1 to N, `square` a list of the squares, `sum` a number, which is printed. Each word becomes a call of a
 * function of the prelude. What is kept over a call lies in a root: that is all a frontend does for the collector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Core.h>
#include <tally-c/lower.h>

static LLVMContextRef context;
static LLVMModuleRef module;
static LLVMBuilderRef build;
static LLVMTypeRef byte, half, word, reference, nothing;

static LLVMTypeRef type_of(LLVMTypeRef result, unsigned count, LLVMTypeRef a, LLVMTypeRef b, LLVMTypeRef c) {
    return LLVMFunctionType(result, (LLVMTypeRef[]){a, b, c}, count, 0);
}

static LLVMValueRef call(LLVMTypeRef result, const char *name, unsigned count, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMValueRef arguments[] = {a, b, c};
    LLVMTypeRef types[3] = {0};
    for (unsigned i = 0; i < count; i++) types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = type_of(result, count, types[0], types[1], types[2]);
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (!function) function = LLVMAddFunction(module, name, type);
    return LLVMBuildCall2(build, type, function, arguments, count, "");
}

static LLVMValueRef number(long value) { return LLVMConstInt(word, (unsigned long long)value, 1); }
static LLVMValueRef null(void) { return LLVMConstNull(reference); }
static LLVMValueRef field(LLVMValueRef cell, long offset) {
    return LLVMBuildGEP2(build, byte, cell, (LLVMValueRef[]){number(offset)}, 1, "");
}

/* A function whose objects are Tally's. */
static LLVMValueRef define(const char *name, LLVMTypeRef type) {
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMSetGC(function, "refcount");
    LLVMPositionBuilderAtEnd(build, LLVMAppendBasicBlockInContext(context, function, "entry"));
    return function;
}

/* A variable that keeps its object alive. */
static LLVMValueRef root(LLVMValueRef value) {
    LLVMValueRef slot = LLVMBuildAlloca(build, reference, "root");
    call(nothing, "llvm.gcroot", 2, slot, null(), 0);
    LLVMBuildStore(build, value, slot);
    return slot;
}

/* Cell { Cell *next; long value; }, described by metadata: one reference, at offset 0 of 16 bytes. */
static LLVMValueRef describe_cell(void) {
    LLVMValueRef cell = LLVMAddGlobal(module, byte, "Cell");
    LLVMSetGlobalConstant(cell, 1);
    LLVMMetadataRef offset = LLVMValueAsMetadata(LLVMConstInt(half, 0, 0));
    LLVMMetadataRef description[] = {
        LLVMValueAsMetadata(cell),
        LLVMMDStringInContext2(context, "size", 4), LLVMValueAsMetadata(number(16)),
        LLVMMDStringInContext2(context, "refs", 4), LLVMMDNodeInContext2(context, &offset, 1),
    };
    LLVMMetadataRef node = LLVMMDNodeInContext2(context, description, 5);
    LLVMAddNamedMetadataOperand(module, "tally.types", LLVMMetadataAsValue(context, node));
    return cell;
}

/* A cell in front of the list in `slot`. */
static void push(LLVMValueRef cell_type, LLVMValueRef slot, LLVMValueRef value) {
    LLVMValueRef cell = call(reference, "tally_new", 1, cell_type, 0, 0);
    LLVMBuildStore(build, value, field(cell, 8));
    call(nothing, "llvm.gcwrite", 3, LLVMBuildLoad2(build, reference, slot, ""), cell, cell);
    LLVMBuildStore(build, cell, slot);
}

/* for (state = first; goes_on(state); state = next(state)), with the builder left behind the loop. Begins with the test. */
typedef struct Loop { LLVMBasicBlockRef test, after; LLVMValueRef state; } Loop;
static Loop begin_loop(LLVMValueRef function, LLVMTypeRef of, LLVMValueRef first) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(build);
    Loop loop = {LLVMAppendBasicBlockInContext(context, function, "test"), LLVMAppendBasicBlockInContext(context, function, "after"), 0};
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(context, function, "body");
    LLVMBuildBr(build, loop.test);
    LLVMPositionBuilderAtEnd(build, loop.test);
    loop.state = LLVMBuildPhi(build, of, "");
    LLVMAddIncoming(loop.state, &first, &before, 1);
    LLVMValueRef ends = LLVMBuildICmp(build, LLVMIntEQ, loop.state, LLVMConstNull(of), "");
    LLVMBuildCondBr(build, ends, loop.after, body);
    LLVMPositionBuilderAtEnd(build, body);
    return loop;
}
static void end_loop(Loop loop, LLVMValueRef next) {
    LLVMBasicBlockRef from = LLVMGetInsertBlock(build);
    LLVMAddIncoming(loop.state, &next, &from, 1);
    LLVMBuildBr(build, loop.test);
    LLVMPositionBuilderAtEnd(build, loop.after);
}

static void define_prelude(void) {
    LLVMValueRef cell = describe_cell();
    LLVMValueRef list = define("list", type_of(reference, 1, word, 0, 0));
    LLVMValueRef made = root(null());
    Loop loop = begin_loop(list, word, LLVMGetParam(list, 0));
    push(cell, made, loop.state);
    end_loop(loop, LLVMBuildSub(build, loop.state, number(1), ""));
    LLVMBuildRet(build, LLVMBuildLoad2(build, reference, made, ""));

    LLVMValueRef square = define("square", type_of(reference, 1, reference, 0, 0));
    made = root(null());
    root(LLVMGetParam(square, 0));
    loop = begin_loop(square, reference, LLVMGetParam(square, 0));
    LLVMValueRef value = LLVMBuildLoad2(build, word, field(loop.state, 8), "");
    push(cell, made, LLVMBuildMul(build, value, value, ""));
    end_loop(loop, LLVMBuildLoad2(build, reference, loop.state, ""));
    LLVMBuildRet(build, LLVMBuildLoad2(build, reference, made, ""));

    LLVMValueRef sum = define("sum", type_of(word, 1, reference, 0, 0));
    LLVMValueRef total = LLVMBuildAlloca(build, word, "total");
    LLVMBuildStore(build, number(0), total);
    loop = begin_loop(sum, reference, LLVMGetParam(sum, 0));
    value = LLVMBuildLoad2(build, word, field(loop.state, 8), "");
    LLVMBuildStore(build, LLVMBuildAdd(build, LLVMBuildLoad2(build, word, total, ""), value, ""), total);
    end_loop(loop, LLVMBuildLoad2(build, reference, loop.state, ""));
    LLVMBuildRet(build, LLVMBuildLoad2(build, word, total, ""));
}

static int compile(char *program, const char *entry) {
    define(entry, type_of(half, 0, 0, 0, 0));
    LLVMValueRef top = NULL, format = LLVMBuildGlobalStringPtr(build, "%ld\n", "format");
    LLVMTypeRef printf_type = LLVMFunctionType(half, &reference, 1, 1);
    LLVMValueRef print = LLVMAddFunction(module, "printf", printf_type);
    for (char *name = strtok(program, " "); name; name = strtok(NULL, " ")) {
        char *end;
        long value = strtol(name, &end, 10);
        if (!*end) top = number(value);
        else if (!LLVMGetNamedFunction(module, name) || !top) return fprintf(stderr, "lists: what is %s?\n", name), 1;
        else top = call(strcmp(name, "sum") ? reference : word, name, 1, top, 0, 0);
        if (!strcmp(name, "sum")) LLVMBuildCall2(build, printf_type, print, (LLVMValueRef[]){format, top}, 2, "");
    }
    LLVMBuildRet(build, LLVMConstInt(half, 0, 0));
    return 0;
}

/* Says what is wrong, and disposes of the findings; returns the status of the process. */
static int told(LLVMBool failed, tally_diagnostics *found) {
    for (size_t i = 0; i < tally_diagnostics_count(found); i++) {
        const tally_diagnostic *it = tally_diagnostics_get(found, i);
        fprintf(stderr, "lists: %s: in %s: %s\n", it->severity == TALLY_ERROR ? "error" : "warning",
                it->function ? it->function : "no function", it->text);
    }
    tally_diagnostics_dispose(found);
    return failed ? 2 : 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: lists OPTIONS PROGRAM [EXECUTABLE]\n"), 2;
    context = LLVMContextCreate();
    module = LLVMModuleCreateWithNameInContext("lists", context);
    build = LLVMCreateBuilderInContext(context);
    byte = LLVMInt8TypeInContext(context), half = LLVMInt32TypeInContext(context), word = LLVMInt64TypeInContext(context);
    reference = LLVMPointerTypeInContext(context, 0), nothing = LLVMVoidTypeInContext(context);
    tally_options *options = tally_options_create();
    tally_diagnostics *found;
    int failed = tally_options_read(options, argv[1], &found);
    if (told(failed, found)) return 2;
    define_prelude();
    if (compile(argv[2], argc > 3 ? "main" : "run")) return 2;
    if (argc > 3) {
        failed = tally_link(&module, 1, options, argv[3], &found);
        return told(failed, found);
    }
    tally_session *session;
    failed = tally_session_create(options, &session, &found);
    if (told(failed, found)) return 2;
    tally_session_module added;
    failed = tally_session_add(session, module, "lists", &added, &found);
    if (told(failed, found)) return 2;
    int status = ((int (*)(void))tally_session_lookup(session, "run"))();
    tally_session_dispose(session);
    tally_options_dispose(options);
    LLVMDisposeBuilder(build);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return status;
}
