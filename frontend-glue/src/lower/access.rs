//! The accesses of a function become code: reads are loads, and a write gets what its plan asks for.
//!
//! Under the deferred plan, and where the trace plan has a barrier, a write is a store behind a test (`barrier`), or a plain one where
//! the test could not find anything: the object is fresh (`fresh`), an earlier write has logged it (`repeated`), or it is a global.
//! Under the prompt plan a write counts (`count`). With zeal, writes of words and pairs stay calls of the runtime, which checks them.

use super::barrier;
use super::count::{Counted, Counts};
use super::global_slots;
use super::{Lowering, strategy};
use crate::analysis::callee::Callee;
use crate::llvm::HandleSet;
use crate::llvm::call::Call;

impl Lowering<'_> {
    /// An access in a function whose references are not counted.
    pub(super) fn lower_access(&mut self, call: Call, fresh: &HandleSet<Call>, repeated: &HandleSet<Call>) {
        match self.callees.of_call(call) {
            Callee::GcWrite | Callee::WriteWord => self.lower_write(call, fresh, repeated),
            Callee::WritePair if barrier::stays_a_call(call) || self.options.zeal => {}
            Callee::WritePair => self.lower_write(call, fresh, repeated),
            Callee::GcRead => _ = barrier::read(&self.builder, call),
            _ => {}
        }
    }

    fn lower_write(&mut self, call: Call, fresh: &HandleSet<Call>, repeated: &HandleSet<Call>) {
        let written = self.callees.written(call).expect("a write");
        if self.callees.is_write(call) && global_slots::is_written_by(call) {
            self.tables.global_root(self.module, written.slot);
            self.report.global_writes += 1;
        } else if fresh.contains(&call) && !self.options.zeal {
            self.report.fresh_writes += 1;
        } else if !strategy::has_barrier(self.module, self.plan) {
            self.report.plain_writes += 1;
        } else if repeated.contains(&call) {
            self.report.repeated_writes += 1;
        } else {
            self.report.barriers += 1;
            barrier::log_first(&self.builder, call.value(), written.object, written.slot);
        }
        barrier::write_plainly(&self.builder, &self.callees, call);
    }

    /// An access in a function whose references are counted.
    pub(super) fn lower_counted_access(&mut self, counts: &Counts, counted: &Counted, call: Call) {
        match self.callees.of_call(call) {
            Callee::GcWrite => {
                if global_slots::is_written_by(call) {
                    self.tables.global_root(self.module, call.argument(2));
                    self.report.global_writes += 1;
                } else {
                    self.report.barriers += 1;
                }
                counts.expand_write(&self.builder, self.options, counted, call);
            }
            Callee::WriteWord => {
                self.report.barriers += 1;
                if !self.options.zeal {
                    counts.expand_word_write(&self.builder, self.options, counted, call);
                }
            }
            Callee::WritePair => {
                self.report.barriers += 1;
                if !self.options.zeal && !barrier::stays_a_call(call) {
                    counts.expand_pair_write(&self.builder, self.options, counted, call);
                }
            }
            Callee::GcRead => _ = barrier::read(&self.builder, call),
            _ => {}
        }
    }
}
