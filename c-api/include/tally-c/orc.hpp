/* tally-c/orc.hpp: a plugin for ORC's ObjectLinkingLayer. The runtime learns of each object that the host's JIT links, before its code
 * can be called, and again before a ResourceTracker gives its memory back.
 *
 *     auto jit = cantFail(llvm::orc::LLJITBuilder().create());
 *     cantFail(tally::registerCode(*jit));
 *     cantFail(jit->addIRModule(tracker, …));       // of modules that went through tally::lower(…, Destination::thisProcess)
 *     cantFail(tracker->remove());                  // fails, and the code stays for good, if this thread is in it
 *
 * The JIT must run in this process. Modules need not be initialised for it (LLJIT::initialize runs constructors of their own).
 */
#ifndef TALLY_C_ORC_HPP
#define TALLY_C_ORC_HPP

#include <map>
#include <mutex>

#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "tally-c/lower.hpp"

namespace tally {

class CodePlugin : public llvm::orc::ObjectLinkingLayer::Plugin {
    using Records = std::vector<void *>;
    std::mutex mutex;
    std::map<llvm::orc::MaterializationResponsibility *, Records> linked;
    std::map<llvm::orc::ResourceKey, Records> registered;

    template <typename Found> static llvm::Error eachRecord(llvm::jitlink::LinkGraph &graph, Found found) {
        for (llvm::jitlink::Symbol *symbol : graph.defined_symbols())
            if (symbol->hasName() && *symbol->getName() == TALLY_MODULE_RECORD) found(*symbol);
        return llvm::Error::success();
    }

    /* Each object has a pointer to a personality of its own. ORC shares them by name, and removes an object's code but not that name:
     * exceptions in the next object would call through memory that was given back. */
    static void keepPersonalities(llvm::jitlink::LinkGraph &graph) {
        for (llvm::jitlink::Symbol *symbol : graph.defined_symbols()) {
            if (!symbol->hasName() || !(*symbol->getName()).starts_with("DW.ref.")) continue;
            symbol->setLinkage(llvm::jitlink::Linkage::Strong);
            symbol->setScope(llvm::jitlink::Scope::Local);
        }
    }

public:
    void modifyPassConfig(llvm::orc::MaterializationResponsibility &responsible, llvm::jitlink::LinkGraph &,
                          llvm::jitlink::PassConfiguration &passes) override {
        passes.PrePrunePasses.insert(passes.PrePrunePasses.begin(), [](llvm::jitlink::LinkGraph &graph) {
            keepPersonalities(graph);
            return eachRecord(graph, [](llvm::jitlink::Symbol &record) { record.setLive(true); });
        });
        passes.PostFixupPasses.push_back([this, &responsible](llvm::jitlink::LinkGraph &graph) {
            std::lock_guard<std::mutex> guard(mutex);
            return eachRecord(graph, [&](llvm::jitlink::Symbol &record) {
                linked[&responsible].push_back(record.getAddress().toPtr<void *>());
            });
        });
    }

    /* The code is in place, and no address of it was given out. */
    llvm::Error notifyEmitted(llvm::orc::MaterializationResponsibility &responsible) override {
        std::lock_guard<std::mutex> guard(mutex);
        Records records = std::move(linked[&responsible]);
        linked.erase(&responsible);
        for (void *record : records) {
            Findings found;
            if (llvm::Error error = ended(tally_register_code(record, found.out()), found)) return error;
        }
        return responsible.withResourceKeyDo([&](llvm::orc::ResourceKey key) {
            registered[key].insert(registered[key].end(), records.begin(), records.end());
        });
    }

    llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility &responsible) override {
        std::lock_guard<std::mutex> guard(mutex);
        linked.erase(&responsible);
        return llvm::Error::success();
    }

    llvm::Error notifyRemovingResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey key) override {
        Records records;
        {
            std::lock_guard<std::mutex> guard(mutex);
            records = std::move(registered[key]);
            registered.erase(key);
        }
        /* Destructors of objects run here, and may have code compiled. */
        for (void *record : records) {
            Findings found;
            if (llvm::Error error = ended(tally_unregister_code(record, found.out()), found)) return error;
        }
        return llvm::Error::success();
    }

    void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey to, llvm::orc::ResourceKey from) override {
        std::lock_guard<std::mutex> guard(mutex);
        Records records = std::move(registered[from]);
        registered.erase(from);
        registered[to].insert(registered[to].end(), records.begin(), records.end());
    }
};

/* Adds the plugin to a JIT that links by JITLink, as LLJIT does on x86-64 Linux by itself. */
inline llvm::Error registerCode(llvm::orc::LLJIT &jit) {
    auto *layer = llvm::dyn_cast<llvm::orc::ObjectLinkingLayer>(&jit.getObjLinkingLayer());
    if (!layer) return llvm::createStringError("Tally needs a JIT whose object layer is an ObjectLinkingLayer");
    layer->addPlugin(std::make_shared<CodePlugin>());
    return llvm::Error::success();
}

} // namespace tally

#endif
