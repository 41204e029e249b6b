/* tally-c/lower.h: the lowering, and sessions of compiled code, for compilers over LLVM's C API. Link -ltally_llvm -lLLVM-22.
 *
 *     tally_options *options = tally_options_create();
 *     tally_options_read(options, "plan=refcount-prompt O2", NULL);
 *     tally_diagnostics *found;
 *     if (tally_lower_module(module, options, TALLY_FOR_LINKER, &found))    // as in LLVM-C, not 0 is a failure
 *         for (size_t i = 0; i < tally_diagnostics_count(found); i++) puts(tally_diagnostics_get(found, i)->text);
 *     tally_diagnostics_dispose(found);
 *
 * A module stays the caller's, and needs no name of its own (but for LLJIT, which wants one for each): what tells its roots
 * from those of others is all that is in it. Functions that fail say why in `*found`, which the caller disposes of; they set it
 * in any case, unless `found` is null. Messages are values: nothing is printed. Names and texts are UTF-8 and end with a zero.
 *
 * The library has the runtime in itself (tally.h), which the code of sessions calls, and that of a JIT of the host's own. Link it
 * rather than load it by dlopen: the runtime's thread-local state is found at a fixed distance from the thread pointer.
 *
 * It is bound to libLLVM.so.22.1. A process whose LLVM is another is told so on standard error when the library is loaded, and every
 * function then fails with that message.
 */
#ifndef TALLY_C_LOWER_H
#define TALLY_C_LOWER_H

#include <stddef.h>
#include <stdint.h>
#include "llvm-c/Types.h"
#include "llvm/Config/llvm-config.h"

#if LLVM_VERSION_MAJOR != 22
#error "tally-c/lower.h is for LLVM 22: -I$(llvm-config-22 --includedir)"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options -------------------------------------------------------------------------------------------------------- */

/* Those of the `tally` command, with its defaults: level O2, warnings, the deferred plan. */
typedef struct tally_options tally_options;
tally_options *tally_options_create(void);
void tally_options_dispose(tally_options *options);

/* Reads words between blanks or semicolons: plan=PLAN, roots=typed|auto, gc-name=NAME=PLAN, save-counts=SAVINGS, zeal,
 * stack-objects=on|off, stack-maps=compact|llvm, no-warnings, O0 O1 O2 O3 Os. On failure the words before the wrong one hold. */
typedef struct tally_diagnostics tally_diagnostics;
LLVMBool tally_options_read(tally_options *options, const char *words, tally_diagnostics **found);

/* ---- Diagnostics ---------------------------------------------------------------------------------------------------- */

typedef enum tally_severity { TALLY_ERROR = 1, TALLY_WARNING = 2 } tally_severity;

typedef struct tally_diagnostic {
    tally_severity severity;
    uint32_t line;        /* in `file`, from 1; 0: not known, and `file` is the module's name */
    uint32_t column;      /* from 1; 0: not known */
    const char *file;     /* null: about no module */
    const char *function; /* null: about no function */
    const char *text;     /* what is wrong */
    const char *hint;     /* what to do; null: nothing is known */
} tally_diagnostic;

/* They live until the list is disposed of. A list may be null, which is an empty one. */
size_t tally_diagnostics_count(const tally_diagnostics *found);
const tally_diagnostic *tally_diagnostics_get(const tally_diagnostics *found, size_t index);
void tally_diagnostics_dispose(tally_diagnostics *found);

/* ---- Lowering: for a compiler that has passes and a code generator of its own ------------------------------------------ */

typedef enum tally_destination {
    TALLY_FOR_LINKER = 0,       /* an object that is linked with libtally.a */
    TALLY_FOR_THIS_PROCESS = 1, /* code of a JIT of the host's own, which finds tally_… in this process, and registers it (below) */
} tally_destination;

/* Checks a module against the contract (docs/port/ir-contract.md); warns of references that no root keeps alive. Inferred roots are
 * written into the module. */
LLVMBool tally_verify_module(LLVMModuleRef module, const tally_options *options, tally_diagnostics **found);

/* Lowers a module, before any pass has run over it. It is then IR for any tool of LLVM 22. A module without anything of Tally is left
 * as it is. After a failure a module is in no state to be compiled. */
LLVMBool tally_lower_module(
    LLVMModuleRef module, const tally_options *options, tally_destination destination, tally_diagnostics **found);

/* After the host's passes, before it generates code: checks that no root was lost, and makes better code. */
LLVMBool tally_finish_module(LLVMModuleRef module, const tally_options *options, tally_diagnostics **found);

/* ---- Compiling: lowers, optimises and emits, as `tally build` does ------------------------------------------------------ */

/* Writes an object of a module that was not lowered yet. */
LLVMBool tally_emit_object(
    LLVMModuleRef module, const tally_options *options, const char *file, tally_diagnostics **found);

/* Makes an executable of the modules of a program, with libtally.a, which lies beside this library, or is named by TALLY_RUNTIME.
 * clang-22 is the linker's driver; what the linker itself prints goes to standard error. */
LLVMBool tally_link(LLVMModuleRef *modules, size_t count, const tally_options *options, const char *executable,
                    tally_diagnostics **found);

/* ---- Building IR: what a frontend needs beside LLVM's own builder ---------------------------------------------------------- */

/* A type of objects, field after field. Fields lie as a C compiler would put them; the functions that add one return its offset. */
typedef struct tally_type tally_type;
tally_type *tally_type_create(const char *name);
void tally_type_dispose(tally_type *type);
uint64_t tally_type_add_reference(tally_type *type, const char *field);
uint64_t tally_type_add_tagged(tally_type *type, const char *field); /* 64 bits: a reference, or something else, as the tag says */
uint64_t tally_type_add_plain(tally_type *type, const char *field, uint64_t bytes, uint64_t align);
uint64_t tally_type_add_length(tally_type *type, const char *field); /* where the runtime keeps the number of elements: 64 bits */

/* A tagged word w is a reference if (w & mask) == pattern, and its address is w & pointer. Without this: 1, 0, ~7; numbers are odd.
 * Refused are masks by which no word is a reference: bits of the pattern outside the mask, or among those of the address. */
void tally_type_set_tags(tally_type *type, uint64_t mask, uint64_t pattern, uint64_t pointer);

/* Objects end with any number of elements, of `bytes` bytes each if they are plain. Returns the offset of the first. */
typedef enum tally_field { TALLY_REFERENCE = 0, TALLY_TAGGED = 1, TALLY_PLAIN = 2 } tally_field;
uint64_t tally_type_set_elements(tally_type *type, tally_field kind, uint64_t bytes);

/* The flags of tally.h: TALLY_ACYCLIC, TALLY_FINALIZE_…. The finalizer is a function of the module, void (void *object). */
void tally_type_set_flags(tally_type *type, uint32_t flags);
void tally_type_set_finalizer(tally_type *type, const char *function);

/* Defines the type as a global of the module, its descriptor. On failure the module is as before. */
LLVMBool tally_type_define(const tally_type *type, LLVMModuleRef module, const char *global, LLVMValueRef *descriptor,
                           tally_diagnostics **found);

/* The following stand where the builder is, in a function whose gc strategy is one of Tally's (LLVMSetGC(function, "refcount")).
 *
 * A variable that keeps a reference alive, or a tagged word if `descriptor` is that of a type with one tagged word and no more.
 * Returns its address, for plain loads and stores. It may be made in any block. */
LLVMValueRef tally_build_root(LLVMBuilderRef builder, LLVMValueRef value, LLVMValueRef descriptor, const char *name);

/* A new object; with `count` elements, of 64 bits, unless that is null. A safepoint, before the object is made. */
LLVMValueRef tally_build_new(LLVMBuilderRef builder, LLVMValueRef descriptor, LLVMValueRef count, const char *name);

/* Stores a reference or a tagged word to a slot in an object; for a global variable, which is a root then, that is both. */
LLVMValueRef tally_build_write(LLVMBuilderRef builder, LLVMValueRef value, LLVMValueRef object, LLVMValueRef slot);

LLVMValueRef tally_build_safepoint(LLVMBuilderRef builder);

/* Calls of the function never collect: no root is needed across them. */
void tally_mark_leaf(LLVMValueRef function);

/* ---- Sessions: code in this process -------------------------------------------------------------------------------------- */

/* Modules that come and go, linked against each other, the host's definitions, the runtime, and the C library. A session belongs to one
 * thread; its code may be called from any. A thread's heap is made at its first allocation, by the TALLY_… variables. gdb knows the code, and
 * perf does where TALLY_PERF_MAP=1 is set. */
typedef struct tally_session tally_session;
typedef uint64_t tally_session_module;
LLVMBool tally_session_create(const tally_options *options, tally_session **session, tally_diagnostics **found);

/* Unloads its modules. Addresses that it gave are no longer valid. */
void tally_session_dispose(tally_session *session);

/* Defines a function or variable of the host by name, for modules that are added from now on. */
LLVMBool tally_session_define(tally_session *session, const char *name, void *address, tally_diagnostics **found);

/* Compiles a module in place, links it and runs its constructors. Dispose of it afterwards: it is of no other use. After a failure the
 * session is as before. */
LLVMBool tally_session_add(
    tally_session *session, LLVMModuleRef module, const char *name, tally_session_module *added, tally_diagnostics **found);

/* The address of a function or variable, or null. */
void *tally_session_lookup(const tally_session *session, const char *name);

/* Runs the module's destructors, and removes its code. No thread may be in it or call it again; this thread's stack is checked. */
LLVMBool tally_session_remove(tally_session *session, tally_session_module module, tally_diagnostics **found);

/* ---- Code of a JIT of the host's own ----------------------------------------------------------------------------------------- */

/* The variable of a module that was lowered for this process, by which the runtime finds its stack map, types and global roots: a local
 * symbol of the object. A JIT that lets plugins look at objects finds it there (tally-c/orc.hpp); another gives it external linkage
 * and a name of its own before it compiles the module, and looks that up. */
#define TALLY_MODULE_RECORD "tally.module"

/* Tells the runtime of code, before anything of it runs. Constructors of the module (LLJIT::initialize) do the same, and code that is
 * registered twice is registered once. On failure, the record being wrong, nothing has changed. */
LLVMBool tally_register_code(void *record, tally_diagnostics **found);

/* Takes it back, while the code is still there: finalizers of its types run, its globals are no roots any more. Fails if the calling
 * thread is in the code, which must stay then. No other thread may be in it; every reference of the host's is in a root. */
LLVMBool tally_unregister_code(void *record, tally_diagnostics **found);

#ifdef __cplusplus
}
#endif
#endif
