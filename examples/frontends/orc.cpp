/* Tiny in C++: a compiler over llvm::IRBuilder with an ORC JIT of its own, on tally-c/lower.hpp.
 *
 *     tiny FILE [WORDS]        WORDS are Tally's options: plan=refcount-prompt, O0, …
 *
 * docs/port/toolchains.md says how it is compiled. The JIT runs the program, removes its code with a ResourceTracker, and does both
 * again: the plugin of tally-c/orc.hpp tells Tally's runtime when code comes and goes. An error of Tiny is a C++ exception.
 */
#include <map>
#include <variant>

#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "tally-c/lower.hpp"
#include "tally-c/orc.hpp"

using namespace llvm;
using Word = uint64_t;

/* ---- The runtime: runtime.c has the rest ------------------------------------------------------------------------------------- */

struct Raised {};

extern "C" {
extern void *(*tiny_make_text)(uint64_t length);
void tiny_keep(Word value);
Word tiny_raised();
void *tiny_code(Word function, uint64_t arity);
Word tiny_error(Word value) {
    tiny_keep(value);
    throw Raised();
}
Word tiny_try(Word function, Word handler) {
    try {
        return reinterpret_cast<Word (*)(Word)>(tiny_code(function, 0))(function);
    } catch (Raised &) {
    }
    auto handle = reinterpret_cast<Word (*)(Word, Word)>(tiny_code(handler, 1));
    return handle(handler, tiny_raised());
}
}

/* ---- The reader -------------------------------------------------------------------------------------------------------------- */

struct Form {
    enum { Number, Text, Name, List } kind;
    std::string text;
    std::vector<Form> items;

    bool is(StringRef name, size_t operands) const {
        return kind == List && !items.empty() && items[0].kind == Name && items[0].text == name && items.size() == operands + 1;
    }
};

[[noreturn]] static void fail(const Twine &what) {
    errs() << "tiny: " << what << "\n";
    exit(2);
}

/* Reads forms up to a closing bracket, or the end. */
static std::vector<Form> readForms(StringRef &rest) {
    std::vector<Form> forms;
    for (;;) {
        rest = rest.ltrim();
        if (rest.empty() || rest[0] == ')') return forms;
        if (rest[0] == ';') {
            rest = rest.drop_until([](char letter) { return letter == '\n'; });
        } else if (rest.consume_front("(")) {
            Form list{Form::List, "", readForms(rest)};
            if (!rest.consume_front(")")) fail("a bracket is missing");
            forms.push_back(std::move(list));
        } else if (rest.consume_front("\"")) {
            auto [text, after] = rest.split('"');
            forms.push_back({Form::Text, text.str(), {}});
            rest = after;
        } else {
            StringRef word = rest.take_front(std::min(rest.find_first_of(" \t\n();\""), rest.size()));
            rest = rest.drop_front(word.size());
            long long number;
            forms.push_back({word.getAsInteger(10, number) ? Form::Name : Form::Number, word.str(), {}});
        }
    }
}

/* ---- The compiler ------------------------------------------------------------------------------------------------------------ */

/* A function of Tiny while it is compiled. Its first variable is its own object, which holds what it has captured. */
struct Scope {
    IRBuilder<> at;
    std::vector<std::pair<std::string, AllocaInst *>> variables;
    std::vector<std::string> captured;
    Scope *outer;

    Scope(Function *function, Scope *outer) : at(BasicBlock::Create(function->getContext(), "entry", function)), outer(outer) {}
    AllocaInst *find(const std::string &name) {
        for (auto it = variables.rbegin(); it != variables.rend(); ++it)
            if (it->first == name) return it->second;
        return nullptr;
    }
};

class Compiler {
    Module &module;
    Type *const word, *const pointer;
    Constant *cell, *text, *function, *wordDescriptor;
    uint64_t head, tail, code, arity, captured;
    std::map<std::string, GlobalVariable *> globals;

    static Constant *define(tally::Type &type, Module &module) { return cantFail(type.define(module)); }

    ConstantInt *number(uint64_t value) { return ConstantInt::get(cast<IntegerType>(word), value); }

    Function *declare(const Twine &name, Type *result, std::vector<Type *> parameters, bool managed) {
        if (Function *known = module.getFunction(name.str())) return known;
        auto *made = Function::Create(FunctionType::get(result, parameters, false), GlobalValue::ExternalLinkage, name, module);
        if (managed) made->setGC("refcount");
        return made;
    }

    AllocaInst *root(Scope &in, Value *value) { return tally::root(in.at, value, wordDescriptor); }
    Value *load(Scope &in, AllocaInst *root) { return in.at.CreateLoad(word, root); }

    /* Reads a root for the last time. Without the 0 it would hold its object until the function returns, under the prompt plan. */
    Value *take(Scope &in, AllocaInst *root) {
        Value *value = load(in, root);
        in.at.CreateStore(number(0), root);
        return value;
    }

    /* Compiles operands from left to right to roots, which hold them while those behind are computed. */
    std::vector<AllocaInst *> rooted(Scope &in, ArrayRef<Form> forms) {
        std::vector<AllocaInst *> roots;
        for (const Form &form : forms) roots.push_back(root(in, compile(in, form)));
        return roots;
    }
    std::vector<Value *> taken(Scope &in, ArrayRef<AllocaInst *> roots) {
        std::vector<Value *> values;
        for (AllocaInst *root : roots) values.push_back(take(in, root));
        return values;
    }
    std::vector<Value *> operands(Scope &in, ArrayRef<Form> forms) { return taken(in, rooted(in, forms)); }

    Value *runtime(Scope &in, const Twine &name, Type *result, ArrayRef<Value *> arguments) {
        std::vector<Type *> types;
        for (Value *argument : arguments) types.push_back(argument->getType());
        return in.at.CreateCall(declare("tiny_" + name, result, types, false), arguments);
    }
    Value *object(Scope &in, Value *value) { return in.at.CreateIntToPtr(value, pointer); }
    Value *field(Scope &in, Value *object, uint64_t offset) { return in.at.CreatePtrAdd(object, number(offset)); }
    void write(Scope &in, Value *object, uint64_t offset, Value *value) {
        tally::write(in.at, value, object, field(in, object, offset));
    }

    Value *makeCell(Scope &in, Value *first, Value *second) {
        AllocaInst *heads = root(in, first), *tails = root(in, second);
        Value *made = tally::create(in.at, cell);
        in.at.CreateStore(number(1), made);
        write(in, made, head, take(in, heads));
        write(in, made, tail, take(in, tails));
        return made;
    }

    Value *apply(Scope &in, ArrayRef<Form> items) {
        if (items.empty()) fail("() calls nothing");
        std::vector<AllocaInst *> roots = rooted(in, items);
        Value *code = runtime(in, "code", pointer, {load(in, roots[0]), number(roots.size() - 1)});
        std::vector<Type *> types(roots.size(), word);
        return in.at.CreateCall(FunctionType::get(word, types, false), code, taken(in, roots));
    }

    Value *variable(Scope &in, const std::string &name) {
        if (name == "nil") return number(0);
        if (AllocaInst *root = in.find(name)) return load(in, root);
        for (Scope *outer = in.outer; outer; outer = outer->outer) {
            if (!outer->find(name)) continue;
            size_t place = find(in.captured, name) - in.captured.begin();
            if (place == in.captured.size()) in.captured.push_back(name);
            Value *own = object(in, load(in, in.variables[0].second));
            return in.at.CreateLoad(word, field(in, own, captured + 8 * place));
        }
        GlobalVariable *global = globals[name];
        if (!global) fail("not defined: " + name);
        return in.at.CreateLoad(word, field(in, in.at.CreateLoad(pointer, global), head));
    }

    Value *closure(Scope &in, ArrayRef<Form> parameters, const Form &body) {
        std::vector<Type *> types(parameters.size() + 1, word);
        Function *made = Function::Create(FunctionType::get(word, types, false), GlobalValue::InternalLinkage, "fn", module);
        made->setGC("refcount");
        Scope inner(made, &in);
        inner.variables.push_back({"(the function)", root(inner, made->getArg(0))});
        for (size_t i = 0; i < parameters.size(); i++)
            inner.variables.push_back({parameters[i].text, root(inner, made->getArg(i + 1))});
        inner.at.CreateRet(compile(inner, body));
        std::vector<AllocaInst *> values;
        for (const std::string &name : inner.captured) values.push_back(root(in, variable(in, name)));
        Value *own = tally::create(in.at, function, number(values.size()));
        in.at.CreateStore(number(3), own);
        in.at.CreateStore(made, field(in, own, code));
        in.at.CreateStore(number(parameters.size()), field(in, own, arity));
        for (size_t i = 0; i < values.size(); i++) write(in, own, captured + 8 * i, take(in, values[i]));
        return in.at.CreatePtrToInt(own, word);
    }

    Value *choose(Scope &in, const Form &condition, const Form &yes, const Form &no) {
        Value *isTrue = in.at.CreateICmpNE(compile(in, condition), number(0));
        Function *function = in.at.GetInsertBlock()->getParent();
        auto block = [&](const char *name) { return BasicBlock::Create(module.getContext(), name, function); };
        BasicBlock *blocks[] = {block("yes"), block("no"), block("then")};
        in.at.CreateCondBr(isTrue, blocks[0], blocks[1]);
        std::pair<Value *, BasicBlock *> results[2];
        for (int i = 0; i < 2; i++) {
            in.at.SetInsertPoint(blocks[i]);
            Value *value = compile(in, i ? no : yes);
            results[i] = {value, in.at.GetInsertBlock()};
            in.at.CreateBr(blocks[2]);
        }
        in.at.SetInsertPoint(blocks[2]);
        PHINode *result = in.at.CreatePHI(word, 2);
        for (auto [value, from] : results) result->addIncoming(value, from);
        return result;
    }

    Value *arithmetic(Scope &in, char sign, ArrayRef<Form> forms) {
        std::vector<AllocaInst *> roots = rooted(in, forms);
        Value *left = runtime(in, "number", word, {take(in, roots[0])});
        Value *right = runtime(in, "number", word, {take(in, roots[1])});
        if (sign == '<') return in.at.CreateSelect(in.at.CreateICmpSLT(left, right), number(3), number(0));
        if (sign == '=') return in.at.CreateSelect(in.at.CreateICmpEQ(left, right), number(3), number(0));
        Value *result = sign == '+' ? in.at.CreateAdd(left, right) : in.at.CreateSub(left, right);
        return in.at.CreateOr(in.at.CreateShl(result, 1), 1);
    }

    /* Compiles a form; the result is in no root. */
    Value *compile(Scope &in, const Form &form) {
        if (form.kind == Form::Number) return number(std::stoll(form.text) * 2 + 1);
        if (form.kind == Form::Name) return variable(in, form.text);
        if (form.kind == Form::Text)
            return runtime(in, "text", word, {in.at.CreateGlobalString(form.text), number(form.text.size())});
        const std::vector<Form> &items = form.items;
        ArrayRef<Form> rest = ArrayRef<Form>(items).drop_front(items.empty() ? 0 : 1);
        if (form.is("fn", 2)) return closure(in, items[1].items, items[2]);
        if (form.is("if", 3)) return choose(in, items[1], items[2], items[3]);
        if (form.is("do", rest.size()) && !rest.empty()) {
            for (const Form &one : rest.drop_back()) compile(in, one);
            return compile(in, rest.back());
        }
        if (form.is("let", 2) && items[1].items.size() == 2) {
            AllocaInst *variable = root(in, compile(in, items[1].items[1]));
            in.variables.push_back({items[1].items[0].text, variable});
            Value *result = compile(in, items[2]);
            in.variables.pop_back();
            take(in, variable); /* the end of its scope */
            return result;
        }
        if (form.is("cons", 2)) {
            std::vector<Value *> values = operands(in, rest);
            return in.at.CreatePtrToInt(makeCell(in, values[0], values[1]), word);
        }
        if (form.is("head", 1) || form.is("tail", 1)) {
            Value *of = object(in, runtime(in, "cell", word, {compile(in, items[1])}));
            return in.at.CreateLoad(word, field(in, of, items[0].text == "head" ? head : tail));
        }
        if (form.is("set-head", 2)) {
            std::vector<AllocaInst *> roots = rooted(in, rest);
            Value *of = object(in, runtime(in, "cell", word, {take(in, roots[0])}));
            Value *value = take(in, roots[1]);
            write(in, of, head, value);
            return value;
        }
        for (const char *sign : {"+", "-", "<", "="})
            if (form.is(sign, 2)) return arithmetic(in, *sign, rest);
        static const std::pair<const char *, size_t> called[] = {{"live", 0}, {"print", 1}, {"error", 1}, {"join", 2}, {"try", 2}};
        for (auto [name, parameters] : called) {
            if (!form.is(name, parameters)) continue;
            /* The runtime has no roots: those of its caller hold the operands until it returns. */
            std::vector<AllocaInst *> roots = rooted(in, rest);
            std::vector<Value *> values;
            for (AllocaInst *root : roots) values.push_back(load(in, root));
            Value *result = runtime(in, name, word, values);
            taken(in, roots);
            return result;
        }
        return apply(in, items);
    }

public:
    explicit Compiler(Module &module)
        : module(module), word(Type::getInt64Ty(module.getContext())), pointer(PointerType::get(module.getContext(), 0)) {
        tally::Type cells("Cell"), texts("Text"), functions("Function"), words("Word");
        cells.plain("kind", 8, 8);
        head = cells.tagged("head");
        tail = cells.tagged("tail");
        texts.plain("kind", 8, 8);
        texts.elements(TALLY_PLAIN, 1);
        functions.plain("kind", 8, 8);
        code = functions.plain("code", 8, 8);
        arity = functions.plain("arity", 8, 8);
        captured = functions.elements(TALLY_TAGGED);
        words.tagged("word");
        cell = define(cells, module), text = define(texts, module);
        function = define(functions, module), wordDescriptor = define(words, module);
    }

    void program(ArrayRef<Form> forms) {
        Function *make = declare("make_text", pointer, {word}, true);
        IRBuilder<> at(BasicBlock::Create(module.getContext(), "entry", make));
        Value *made = tally::create(at, text, make->getArg(0));
        at.CreateStore(number(2), made);
        at.CreateRet(made);
        Scope in(declare("tiny_main", word, {}, true), nullptr);
        for (const Form &form : forms) {
            if (!form.is("define", 2)) {
                compile(in, form);
                continue;
            }
            /* A global root is a reference: to a cell with the value, which functions may name before it is there. */
            auto *global = new GlobalVariable(module, pointer, false, GlobalValue::InternalLinkage, ConstantPointerNull::get(
                cast<PointerType>(pointer)), "global." + form.items[1].text);
            globals[form.items[1].text] = global;
            tally::write(in.at, makeCell(in, number(0), number(0)), global, global);
            Value *value = compile(in, form.items[2]);
            write(in, in.at.CreateLoad(pointer, global), head, value);
        }
        in.at.CreateRet(number(0));
    }
};

/* ---- The JIT ----------------------------------------------------------------------------------------------------------------- */

/* The passes are the host's own: Tally lowers before them, and checks behind them that no root was lost. */
static Error optimise(Module &module, const tally::Options &options) {
    std::vector<tally::Diagnostic> warnings;
    if (Error error = tally::lower(module, options, tally::Destination::thisProcess, &warnings)) return error;
    for (const tally::Diagnostic &warning : warnings) errs() << warning.str() << "\n";
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    PassBuilder passes;
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(components);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, components, modules);
    passes.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
    return tally::finish(module, options);
}

static Error runOnce(orc::LLJIT &jit, ArrayRef<Form> forms, const tally::Options &options, int number) {
    auto context = std::make_unique<LLVMContext>();
    auto module = std::make_unique<Module>("tiny." + std::to_string(number), *context);
    module->setDataLayout(jit.getDataLayout());
    Compiler(*module).program(forms);
    if (verifyModule(*module, &errs())) fail("the compiler is wrong");
    if (Error error = optimise(*module, options)) return error;
    orc::ResourceTrackerSP code = jit.getMainJITDylib().createResourceTracker();
    if (Error error = jit.addIRModule(code, orc::ThreadSafeModule(std::move(module), std::move(context)))) return error;
    auto make = jit.lookup("make_text");
    if (!make) return make.takeError();
    tiny_make_text = make->toPtr<void *(uint64_t)>();
    auto main = jit.lookup("tiny_main");
    if (!main) return main.takeError();
    try {
        main->toPtr<Word()>()();
    } catch (Raised &) {
        fail("an error that nothing caught");
    }
    fflush(stdout);
    return code->remove(); /* what only the program's globals hold dies here, and the code goes */
}

int main(int argc, char **argv) {
    ExitOnError check("tiny: ");
    if (argc < 2) fail("tiny FILE [WORDS]");
    tally::Options options;
    for (int i = 2; i < argc; i++) check(options.read(argv[i]));
    auto source = check(errorOrToExpected(MemoryBuffer::getFile(argv[1])));
    StringRef rest = source->getBuffer();
    std::vector<Form> forms = readForms(rest);
    if (!rest.empty()) fail("a bracket too many");
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    auto jit = check(orc::LLJITBuilder().create());
    check(tally::registerCode(*jit));
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
    jit->getMainJITDylib().addGenerator(check(std::move(process)));
    for (int i = 0; i < 2; i++) check(runOnce(*jit, forms, options, i));
}
