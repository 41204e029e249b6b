/* tally-c/lower.hpp: tally-c/lower.h for compilers in C++, over llvm::Module and IRBuilder, with llvm::Error.
 *
 *     tally::Options options;
 *     if (llvm::Error error = options.read("plan=refcount-prompt O2")) return error;
 *     std::vector<tally::Diagnostic> warnings;
 *     if (llvm::Error error = tally::lower(module, options, tally::Destination::thisProcess, &warnings)) return error;
 *
 * An error is a tally::Error, which has the findings; its message has a line for each. Link -ltally_llvm -lLLVM-22.
 */
#ifndef TALLY_C_LOWER_HPP
#define TALLY_C_LOWER_HPP

#include <memory>
#include <string>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "tally-c/lower.h"

namespace tally {

/* A finding about a module. Texts that are empty, and numbers that are 0, are not known. */
struct Diagnostic {
    bool isError = true;
    uint32_t line = 0, column = 0;
    std::string file, function, text, hint;

    /* `prog.mine:41: in @push: …; add gc "refcount" to the function` */
    std::string str() const {
        std::string all = file.empty() ? "" : file + ":" + (line ? std::to_string(line) + ":" : "") + " ";
        if (!function.empty()) all += "in @" + function + ": ";
        return all + text + (hint.empty() ? "" : "; " + hint);
    }
};

/* What a function of the C interface has found. */
class Findings {
    tally_diagnostics *list = nullptr;

public:
    Findings() = default;
    Findings(const Findings &) = delete;
    Findings &operator=(const Findings &) = delete;
    ~Findings() { tally_diagnostics_dispose(list); }
    tally_diagnostics **out() { return &list; }

    std::vector<Diagnostic> values() const {
        auto text = [](const char *known) { return std::string(known ? known : ""); };
        std::vector<Diagnostic> all;
        for (size_t i = 0; i < tally_diagnostics_count(list); i++) {
            const tally_diagnostic *it = tally_diagnostics_get(list, i);
            all.push_back({it->severity == TALLY_ERROR, it->line, it->column, text(it->file), text(it->function), text(it->text),
                           text(it->hint)});
        }
        return all;
    }
};

/* Why something failed. */
class Error : public llvm::ErrorInfo<Error> {
public:
    static inline char ID = 0;
    std::vector<Diagnostic> diagnostics;

    explicit Error(std::vector<Diagnostic> found) : diagnostics(std::move(found)) {}
    void log(llvm::raw_ostream &out) const override {
        for (size_t i = 0; i < diagnostics.size(); i++) out << (i ? "\n" : "") << diagnostics[i].str();
    }
    std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/* The end of a call: an error if it failed; else what was found are warnings. */
inline llvm::Error ended(LLVMBool failed, const Findings &found, std::vector<Diagnostic> *warnings = nullptr) {
    if (failed) return llvm::make_error<Error>(found.values());
    if (warnings) *warnings = found.values();
    return llvm::Error::success();
}

/* Those of the `tally` command, with its defaults. */
class Options {
    std::unique_ptr<tally_options, decltype(&tally_options_dispose)> options{tally_options_create(), tally_options_dispose};

public:
    const tally_options *get() const { return options.get(); }

    /* plan=PLAN, roots=auto, zeal, O0 … Os and the other words of tally-c/lower.h. */
    llvm::Error read(const std::string &words) {
        Findings found;
        return ended(tally_options_read(options.get(), words.c_str(), found.out()), found);
    }
};

enum class Destination { linker = TALLY_FOR_LINKER, thisProcess = TALLY_FOR_THIS_PROCESS };

/* Checks a module against the contract. */
inline llvm::Error verify(llvm::Module &module, const Options &options, std::vector<Diagnostic> *warnings = nullptr) {
    Findings found;
    return ended(tally_verify_module(llvm::wrap(&module), options.get(), found.out()), found, warnings);
}

/* Lowers a module, before any pass has run over it. */
inline llvm::Error lower(llvm::Module &module, const Options &options, Destination destination,
                         std::vector<Diagnostic> *warnings = nullptr) {
    Findings found;
    auto where = static_cast<tally_destination>(destination);
    return ended(tally_lower_module(llvm::wrap(&module), options.get(), where, found.out()), found, warnings);
}

/* After the compiler's own passes, before it generates code. */
inline llvm::Error finish(llvm::Module &module, const Options &options) {
    Findings found;
    return ended(tally_finish_module(llvm::wrap(&module), options.get(), found.out()), found);
}

/* Writes an object of a module that was not lowered yet. */
inline llvm::Error emitObject(llvm::Module &module, const Options &options, const std::string &file,
                              std::vector<Diagnostic> *warnings = nullptr) {
    Findings found;
    return ended(tally_emit_object(llvm::wrap(&module), options.get(), file.c_str(), found.out()), found, warnings);
}

/* Makes an executable of the modules of a program. */
inline llvm::Error link(llvm::ArrayRef<llvm::Module *> modules, const Options &options, const std::string &executable,
                        std::vector<Diagnostic> *warnings = nullptr) {
    std::vector<LLVMModuleRef> all;
    for (llvm::Module *module : modules) all.push_back(llvm::wrap(module));
    Findings found;
    return ended(tally_link(all.data(), all.size(), options.get(), executable.c_str(), found.out()), found, warnings);
}

/* Modules that come and go in this process, compiled and linked by Tally. */
class Session {
    std::unique_ptr<tally_session, decltype(&tally_session_dispose)> session;

    explicit Session(tally_session *made) : session(made, tally_session_dispose) {}

public:
    static llvm::Expected<Session> create(const Options &options) {
        tally_session *made;
        Findings found;
        if (llvm::Error error = ended(tally_session_create(options.get(), &made, found.out()), found)) return std::move(error);
        return Session(made);
    }
    llvm::Error define(const std::string &name, void *address) {
        Findings found;
        return ended(tally_session_define(session.get(), name.c_str(), address, found.out()), found);
    }
    /* The module is compiled in place: of no other use afterwards. */
    llvm::Expected<tally_session_module> add(llvm::Module &module, const std::string &name,
                                             std::vector<Diagnostic> *warnings = nullptr) {
        tally_session_module added;
        Findings found;
        LLVMBool failed = tally_session_add(session.get(), llvm::wrap(&module), name.c_str(), &added, found.out());
        if (llvm::Error error = ended(failed, found, warnings)) return std::move(error);
        return added;
    }
    /* Null: there is no such function. */
    template <typename Function> Function *lookup(const std::string &name) const {
        return reinterpret_cast<Function *>(tally_session_lookup(session.get(), name.c_str()));
    }
    llvm::Error remove(tally_session_module module) {
        Findings found;
        return ended(tally_session_remove(session.get(), module, found.out()), found);
    }
};

/* A type of objects, field after field; the functions that add one return its offset. */
class Type {
    std::string name;
    std::unique_ptr<tally_type, decltype(&tally_type_dispose)> type;

public:
    explicit Type(const std::string &name) : name(name), type(tally_type_create(name.c_str()), tally_type_dispose) {}
    uint64_t reference(const std::string &field) { return tally_type_add_reference(type.get(), field.c_str()); }
    uint64_t tagged(const std::string &field) { return tally_type_add_tagged(type.get(), field.c_str()); }
    uint64_t plain(const std::string &field, uint64_t bytes, uint64_t align) {
        return tally_type_add_plain(type.get(), field.c_str(), bytes, align);
    }
    uint64_t length(const std::string &field) { return tally_type_add_length(type.get(), field.c_str()); }
    uint64_t elements(tally_field kind, uint64_t bytes = 8) { return tally_type_set_elements(type.get(), kind, bytes); }
    Type &tags(uint64_t mask, uint64_t pattern, uint64_t pointer) {
        tally_type_set_tags(type.get(), mask, pattern, pointer);
        return *this;
    }
    Type &flags(uint32_t flags) {
        tally_type_set_flags(type.get(), flags);
        return *this;
    }
    Type &finalizer(const llvm::Function &function) {
        tally_type_set_finalizer(type.get(), function.getName().str().c_str());
        return *this;
    }
    /* The descriptor, a global of the type's name. */
    llvm::Expected<llvm::Constant *> define(llvm::Module &module) const {
        LLVMValueRef descriptor;
        Findings found;
        LLVMBool failed = tally_type_define(type.get(), llvm::wrap(&module), name.c_str(), &descriptor, found.out());
        if (llvm::Error error = ended(failed, found)) return std::move(error);
        return llvm::cast<llvm::Constant>(llvm::unwrap(descriptor));
    }
};

/* The builders of tally-c/lower.h: they stand where the builder is. A root is an alloca: load from it and store to it plainly. */
inline llvm::AllocaInst *root(llvm::IRBuilder<> &at, llvm::Value *value, llvm::Constant *descriptor = nullptr,
                              const char *name = "") {
    return llvm::cast<llvm::AllocaInst>(
        llvm::unwrap(tally_build_root(llvm::wrap(&at), llvm::wrap(value), llvm::wrap(descriptor), name)));
}

/* A new object, with `count` elements. */
inline llvm::Value *create(llvm::IRBuilder<> &at, llvm::Constant *descriptor, llvm::Value *count = nullptr, const char *name = "") {
    return llvm::unwrap(tally_build_new(llvm::wrap(&at), llvm::wrap(descriptor), llvm::wrap(count), name));
}

/* A reference or a tagged word is stored to a field of an object. */
inline void write(llvm::IRBuilder<> &at, llvm::Value *value, llvm::Value *object, llvm::Value *slot) {
    tally_build_write(llvm::wrap(&at), llvm::wrap(value), llvm::wrap(object), llvm::wrap(slot));
}

inline void safepoint(llvm::IRBuilder<> &at) { tally_build_safepoint(llvm::wrap(&at)); }
inline void markLeaf(llvm::Function &function) { tally_mark_leaf(llvm::wrap(&function)); }

} // namespace tally

#endif
