//! Writes to open objects become what the plan makes of them: plain stores, or counted writes under the prompt plan.
//!
//! ```text
//!   call void @tally_write_open(ptr %value, ptr %object, ptr %slot)     deferred, trace   store ptr %value, ptr %slot
//!                                                                     prompt            call void @llvm.gcwrite(ptr %value, ptr %object, ptr %slot)
//!   call void @tally_write_open_i64(i64 %word, ptr %object, ptr %slot)  the same with store i64, tally_gcwrite_i64
//! ```
//!
//! This is done before anything else looks at writes, so they are analysed and counted as such. An open object was logged when it was
//! opened and at each flip (`services::open_object`), so its stores pass no barrier. `[LOG]` With zeal the calls stay: the runtime stops a program
//! whose object is not open.

use crate::analysis::callee::WRITE_WORD;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Module, Value};
use tally_heap::plan::Plan;

const OF_REFERENCES: &str = "tally_write_open";
const OF_WORDS: &str = "tally_write_open_i64";

/// Replaces the calls.
pub(super) fn replace(module: Module, plan: Plan, zeal: bool) {
    for name in [OF_REFERENCES, OF_WORDS] {
        let Some(function) = module.function(name).filter(|_| !zeal) else { continue };
        let calls: Vec<Call> = function.users().filter_map(Value::as_call).collect();
        // An invoke ends its block, and an address that is passed on is called by the runtime's name: both do the same at run time.
        for call in calls.into_iter().filter(|call| call.callee() == function && !call.is_invoke()) {
            let (builder, arguments) = (Builder::new(module), call.arguments());
            builder.before(call.value());
            match plan {
                Plan::Deferred | Plan::Trace => _ = builder.store(arguments[0], arguments[2]),
                // Code without references of its own has no gcwrite.
                Plan::Prompt if call.value().function().gc().is_none() => continue,
                Plan::Prompt => {
                    let write = match name {
                        OF_REFERENCES => module.intrinsic("llvm.gcwrite", &[]),
                        _ => module
                            .function(WRITE_WORD)
                            .unwrap_or_else(|| module.add_function(WRITE_WORD, call.function_type())),
                    };
                    builder.call(write.value_type(), write, &arguments);
                }
            }
            call.value().erase();
        }
    }
}
