// The C++ half of the pass plugin: everything for which LLVM has no C interface.
//
// - `tally-lower`, a module pass; it is also the first pass of every pipeline, and `tally-finish` the last.
// - Findings become LLVM's diagnostics, at the instruction that they are about. Clang generates code in spite of errors, and its code
//   generator ends the process at a function with a strategy that it does not know: so all bodies of a refused module are deleted.
// - Clang and `llc` ask before they generate code. The plugin generates objects itself then, with their machine, and makes the stack
//   maps compact in the bytes.
// - Where it does not (lld, objects whose debug information goes to another file) LLVM's stack maps must be writable, or a position
//   independent executable cannot be linked. Only the code generator makes their section. One function of the module gets a gc
//   strategy of the plugin's own just before, whose printer of tables sees the section first.
//
// The Rust half has the entry point: a shared library of Rust exports nothing that is written in C++.

#include "llvm-c/Types.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/GCMetadata.h"
#include "llvm/CodeGen/GCMetadataPrinter.h"
#include "llvm/CodeGen/StackMaps.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/GCStrategy.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCSectionELF.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

extern "C" {
/// A finding of the Rust half. Texts are borrowed for the call.
struct TallyFinding {
  bool IsError;
  uint32_t Line, Column;
  const char *Function;
  const char *Text;
};
using TallyReport = void (*)(void *Module, const TallyFinding *);

/// The Rust half. Each returns whether the module is Tally's; -1: it is refused.
struct TallySteps {
  int (*Lower)(LLVMModuleRef, const char *Options, uint32_t Level, bool IsFinished, TallyReport, void *);
  int (*Join)(LLVMModuleRef, TallyReport, void *);
  int (*Finish)(LLVMModuleRef, uint32_t Level, bool IsLast, TallyReport, void *);
  int (*BeforeCode)(LLVMModuleRef, TallyReport, void *);
  /// Makes the stack maps of an object compact, in place.
  void (*FinishObject)(char *Bytes, size_t Size, const char *Options);
};
}

static_assert(LLVM_PLUGIN_API_VERSION == 2 && sizeof(PassPluginLibraryInfo) == 40, "the Rust half has this layout");

static cl::opt<std::string> Options("tally", cl::desc("Options of Tally's lowering: plan=refcount-prompt;roots=auto;zeal"));

namespace {

/// The place of a finding, found again: it is known as text.
DiagnosticLocation placeOf(const Function &F, const TallyFinding &Finding) {
  if (Finding.Line == 0)
    return DiagnosticLocation(F.getSubprogram());
  for (const Instruction &I : instructions(F))
    if (const DebugLoc &Loc = I.getDebugLoc())
      if (Loc.getLine() == Finding.Line && Loc.getCol() == Finding.Column)
        return DiagnosticLocation(Loc);
  return DiagnosticLocation(F.getSubprogram());
}

void report(void *Raw, const TallyFinding *Finding) {
  Module &M = *static_cast<Module *>(Raw);
  auto Severity = Finding->IsError ? DS_Error : DS_Warning;
  Function *F = Finding->Function ? M.getFunction(Finding->Function) : nullptr;
  if (F && !F->isDeclaration()) {
    auto Place = placeOf(*F, *Finding);
    M.getContext().diagnose(DiagnosticInfoUnsupported(*F, Finding->Text, Place, Severity));
  } else {
    M.getContext().diagnose(DiagnosticInfoGeneric(Finding->Text, Severity));
  }
}

/// Leaves nothing of which code could be made.
void empty(Module &M) {
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    F.clearGC();
    F.setComdat(nullptr);
    F.deleteBody();
  }
  auto Remove = [](auto List) {
    for (auto &Value : make_early_inc_range(List)) {
      Value.replaceAllUsesWith(PoisonValue::get(Value.getType()));
      Value.eraseFromParent();
    }
  };
  Remove(M.aliases());
  Remove(M.ifuncs());
  for (const char *Name : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *List = M.getNamedGlobal(Name))
      List->eraseFromParent();
}

PreservedAnalyses done(Module &M, int Answer) {
  if (Answer < 0)
    empty(M);
  return Answer == 0 ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

uint32_t number(OptimizationLevel Level) { return Level.getSizeLevel() > 0 ? 4 : Level.getSpeedupLevel(); }

constexpr char MapsStrategy[] = "tally-maps";
constexpr StringLiteral MapsLabel = "tally.stack_map_label";

/// Gives the strategy to the one function that has nothing but the label of the module's stack maps.
void markMaps(Module &M) {
  for (Function &F : M)
    if (!F.isDeclaration() && F.getName().starts_with(MapsLabel)) {
      F.setGC(MapsStrategy);
      return;
    }
}

/// Switches a pass of LLVM's code generator off that loses exceptions at landing pads: `emit/landing_pads.rs` explains it.
void keepExceptions(const Module &M) {
  if (none_of(M, [](const Function &F) { return F.hasPersonalityFn(); }))
    return;
  auto &Known = cl::getRegisteredOptions();
  auto Found = Known.find("disable-postra-machine-sink");
  if (Found != Known.end())
    static_cast<cl::opt<bool> *>(Found->second)->setValue(true);
}

struct Lower : PassInfoMixin<Lower> {
  const TallySteps *Steps;
  std::string Words;
  uint32_t Level;
  bool IsFinished;
  Lower(const TallySteps *Steps, std::string Words, uint32_t Level, bool IsFinished)
      : Steps(Steps), Words(Words), Level(Level), IsFinished(IsFinished) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    std::string All = Options + ";" + Words;
    return done(M, Steps->Lower(wrap(&M), All.c_str(), Level, IsFinished, report, &M));
  }
  static bool isRequired() { return true; }
};

/// At the link, before anything is inlined.
struct Join : PassInfoMixin<Join> {
  const TallySteps *Steps;
  Join(const TallySteps *Steps) : Steps(Steps) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) { return done(M, Steps->Join(wrap(&M), report, &M)); }
  static bool isRequired() { return true; }
};

struct Finish : PassInfoMixin<Finish> {
  const TallySteps *Steps;
  uint32_t Level;
  bool IsLast, IsLinking;
  Finish(const TallySteps *Steps, uint32_t Level, bool IsLast, bool IsLinking)
      : Steps(Steps), Level(Level), IsLast(IsLast), IsLinking(IsLinking) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    int Answer = Steps->Finish(wrap(&M), Level, IsLast, report, &M);
    // Linkers do not ask plugins before they generate code.
    if (Answer > 0 && IsLinking) {
      markMaps(M);
      keepExceptions(M);
    }
    return done(M, Answer);
  }
  static bool isRequired() { return true; }
};

/// `tally-lower` or `tally-lower<plan=refcount-prompt;O2>`.
bool parse(const TallySteps *Steps, StringRef Name, ModulePassManager &MPM) {
  if (!Name.consume_front("tally-lower"))
    return false;
  if (!Name.empty() && !(Name.consume_front("<") && Name.consume_back(">")))
    return false;
  MPM.addPass(Lower(Steps, Name.str(), /*Level=*/2, /*IsFinished=*/false));
  return true;
}

struct MapsStrategyOfTally : GCStrategy {
  MapsStrategyOfTally() { UsesMetadata = true; }
};

struct MapsPrinter : GCMetadataPrinter {
  bool emitStackMaps(StackMaps &, AsmPrinter &Printer) override {
    // The assembler of LLVM knows the section, and refuses text that gives it other flags.
    if (Printer.OutStreamer->hasRawTextSupport())
      return false;
    MCSection *Section = Printer.OutContext.getObjectFileInfo()->getStackMapSection();
    auto *Elf = static_cast<MCSectionELF *>(Section);
    Elf->setFlags(Elf->getFlags() | ELF::SHF_WRITE);
    return false; // LLVM writes them, in its own format.
  }
};

GCRegistry::Add<MapsStrategyOfTally> Strategy(MapsStrategy, "makes stack maps writable");
GCMetadataPrinterRegistry::Add<MapsPrinter> Printer(MapsStrategy, "makes stack maps writable");

} // namespace

extern "C" void tally_passes_register(PassBuilder &PB, const TallySteps *Steps) {
  PB.registerPipelineParsingCallback(
      [Steps](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        return parse(Steps, Name, MPM);
      });
  PB.registerPipelineStartEPCallback([Steps](ModulePassManager &MPM, OptimizationLevel Level) {
    MPM.addPass(Lower(Steps, "", number(Level), /*IsFinished=*/true));
  });
  PB.registerPipelineEarlySimplificationEPCallback([Steps](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase Phase) {
    if (Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
      MPM.addPass(Join(Steps));
  });
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [Steps](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(Join(Steps)); });
  PB.registerOptimizerLastEPCallback([Steps](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase Phase) {
    bool IsForLinker = Phase == ThinOrFullLTOPhase::ThinLTOPreLink || Phase == ThinOrFullLTOPhase::FullLTOPreLink;
    MPM.addPass(Finish(Steps, number(Level), !IsForLinker, Phase == ThinOrFullLTOPhase::ThinLTOPostLink));
  });
  PB.registerFullLinkTimeOptimizationLastEPCallback([Steps](ModulePassManager &MPM, OptimizationLevel Level) {
    MPM.addPass(Finish(Steps, number(Level), /*IsLast=*/true, /*IsLinking=*/true));
  });
}

/// Generates an object as the tool would; false: nothing was done.
static bool emitObject(Module &M, TargetMachine &TM, raw_pwrite_stream &OS, const TallySteps *Steps) {
  // The tool has a second stream then, which it does not show.
  if (!TM.Options.MCOptions.SplitDwarfFile.empty())
    return false;
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Object(Bytes);
  legacy::PassManager Passes;
  Passes.add(new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(M.getTargetTriple(), TM.Options.VecLib)));
  Passes.add(createTargetTransformInfoWrapperPass(TM.getTargetIRAnalysis()));
  if (TM.addPassesToEmitFile(Passes, Object, nullptr, CodeGenFileType::ObjectFile))
    return false;
  Passes.run(M);
  Steps->FinishObject(Bytes.data(), Bytes.size(), Options.c_str());
  OS << Object.str();
  return true;
}

/// Whether code was generated; if not, the tool does it.
extern "C" bool tally_passes_before_code(Module &M, TargetMachine &TM, int Kind, raw_pwrite_stream &OS,
                                         const TallySteps *Steps) {
  int Answer = Steps->BeforeCode(wrap(&M), report, &M);
  if (Answer < 0)
    empty(M);
  if (Answer <= 0)
    return false;
  keepExceptions(M);
  if (Kind == int(CodeGenFileType::ObjectFile) && emitObject(M, TM, OS, Steps))
    return true;
  markMaps(M);
  return false;
}
