//! The one list of runtime entry points, shared by the compiler (declarations, JIT symbol table) and the runtime.
//!
//! `for_each_runtime_symbol!(macro)` calls `macro!` with one line per symbol: name, signature in the letters of the
//! table below, and whether a call of it is a safepoint (it may run an epoch, and so carries a bundle) or a leaf.
//!
//! Signature: result, `(`, parameters, `)` in `p` pointer, `l` i64, `i` i32, `v` void. The cost and contract of each
//! are at its definition, in `abi.rs`, `program.rs` and `stack`.

/// Calls `$then!` with the list of runtime symbols.
#[macro_export]
macro_rules! for_each_runtime_symbol {
    ($then:ident) => {
        $then! {
            tally_new, "p(p)", safepoint;
            tally_new_array, "p(pl)", safepoint;
            tally_try_new, "p(p)", safepoint;
            tally_try_new_array, "p(pl)", safepoint;
            tally_new_slow, "p(p)", safepoint;
            tally_new_array_slow, "p(pl)", safepoint;
            tally_safepoint, "v()", safepoint;
            tally_safepoint_slow, "v()", safepoint;
            tally_collect, "v()", safepoint;
            tally_step, "i(l)", safepoint;
            tally_step_bytes, "i(l)", safepoint;
            tally_live_bytes, "l()", leaf;
            tally_stop, "v()", leaf;
            tally_restart, "v()", leaf;
            tally_is_running, "i()", leaf;
            tally_set_epoch_bytes, "v(l)", leaf;
            tally_set_pause_goal, "v(l)", leaf;
            tally_log_collections, "v(i)", leaf;
            tally_collector_mode, "i(i)", leaf;
            tally_handle_new, "p(p)", leaf;
            tally_handle_set, "v(pp)", leaf;
            tally_handles_open, "p()", leaf;
            tally_handles_close, "v(p)", leaf;
            tally_global_new, "p(p)", leaf;
            tally_global_set, "v(pp)", leaf;
            tally_global_free, "v(p)", leaf;
            tally_external_bytes, "v(pl)", leaf;
            tally_object_open, "v(p)", leaf;
            tally_object_close, "v(p)", leaf;
            tally_write_open, "v(ppp)", leaf;
            tally_write_open_i64, "v(lpp)", leaf;
            tally_host_new, "p(pp)", safepoint;
            tally_make_immortal, "v(p)", leaf;
            tally_freeze, "v()", safepoint;
            tally_unfreeze, "v()", leaf;
            tally_set_limits, "v(ll)", leaf;
            tally_on_soft_limit, "v(pp)", leaf;
            tally_on_out_of_memory, "v(pp)", leaf;
            tally_count_of, "l(p)", leaf;
            tally_is_in_heap, "i(p)", leaf;
            tally_get_statistics, "v(p)", leaf;
            tally_for_each_object, "v(pp)", safepoint;
            tally_leak_report, "l(pp)", safepoint;
            tally_why_alive, "l(ppp)", safepoint;
            tally_referrers_of, "l(ppp)", safepoint;
            tally_objects_of, "l(ppp)", safepoint;
            tally_count_of_type, "l(p)", safepoint;
            tally_record_alloc_sites, "v(l)", leaf;
            tally_alloc_site, "i(ppp)", leaf;
            tally_alloc_sites, "l(pp)", leaf;
            tally_log_cycles, "v(i)", leaf;
            tally_cycle_report, "l(pp)", leaf;
            tally_zeal_safepoint, "v(plp)", safepoint;
            tally_log_slow, "v(pp)", leaf;
            tally_new_owned, "p(p)", safepoint;
            tally_new_array_owned, "p(pl)", safepoint;
            tally_drain, "v(pl)", safepoint;
            tally_count_low, "v(p)", leaf;
            tally_count_full, "v(p)", leaf;
            tally_postpone, "v(ll)", leaf;
            tally_apply_postponed, "v()", leaf;
            tally_increment, "v(l)", leaf;
            tally_decrement, "v(l)", leaf;
            tally_root_settle, "v(pppl)", leaf;
            tally_gcwrite_i64, "v(lpp)", leaf;
            tally_write_pair, "v(ppll)", leaf;
            tally_copy_refs, "v(pppl)", leaf;
            tally_fill_refs, "v(ppll)", leaf;
            tally_resize, "v(ppl)", safepoint;
            tally_try_resize, "i(ppl)", safepoint;
            tally_rehash, "v(pplpp)", safepoint;
            tally_init, "v()", leaf;
            tally_register_module, "v(p)", leaf;
            tally_register_deferred, "v(p)", leaf;
            tally_register_prompt, "v(p)", leaf;
            tally_register_trace, "v(p)", leaf;
            tally_unregister_module, "v(p)", leaf;
            tally_register_frames, "v(p)", leaf;
            tally_unregister_frames, "v(p)", leaf;
            tally_zeal_here, "v(p)", leaf;
            tally_zeal_access, "v(pp)", leaf;
            tally_zeal_write, "v(pplp)", leaf;
            tally_zeal_pair, "v(ppllp)", leaf;
            tally_zeal_store, "v(plp)", leaf;
            tally_zeal_store_part, "v(pllp)", leaf;
            tally_zeal_copy, "v(pplp)", leaf;
            tally_zeal_fill, "v(pllp)", leaf;
            tally_zeal_value, "v(pp)", leaf;
            tally_zeal_words, "v(ppplp)", leaf;
            tally_zeal_word, "v(pplp)", leaf;
            tally_landed, "v()", leaf;
            tally_address_taken_store, "v(p)", leaf;
            tally_run_main, "i(pip)", safepoint;
            tally_call_managed, "p(ppp)", safepoint;
            tally_stack_new, "p(pl)", safepoint;
            tally_stack_switch, "p(pp)", safepoint;
            tally_stack_current, "p()", safepoint;
            tally_stack_keep, "v(pp)", leaf;
            tally_stack_status, "i(p)", leaf;
            tally_stack_close, "v(p)", leaf;
            tally_report_overflows, "v(i)", leaf;
            tally_finalize_register, "i(p)", leaf;
            tally_finalize_forget, "v(p)", leaf;
            tally_finalize_at_exit, "v(i)", leaf;
            tally_finalize_all, "v()", safepoint;
            tally_on_finalizer_error, "v(p)", leaf;
            tally_weak_new, "p(p)", safepoint;
            tally_weak_new_with, "p(pp)", safepoint;
            tally_weak_get, "p(p)", leaf;
            tally_weak_upgrade, "p(p)", leaf;
            tally_weak_write, "v(ppp)", leaf;
            tally_type_on_clear, "v(pp)", leaf;
            tally_ephemeron_new, "p(pp)", safepoint;
            tally_ephemeron_get, "p(p)", leaf;
            tally_ephemeron_key, "p(p)", leaf;
            tally_ephemeron_key_write, "v(ppp)", leaf;
            tally_weak_map_new, "p(i)", safepoint;
            tally_weak_map_get, "p(pp)", leaf;
            tally_weak_map_set, "v(ppp)", safepoint;
            tally_weak_map_remove, "i(pp)", leaf;
            tally_weak_map_count, "l(p)", leaf;
            tally_weak_map_next, "l(pl)", leaf;
            tally_weak_map_find, "l(pp)", leaf;
            tally_weak_map_key_at, "p(pl)", leaf;
            tally_weak_map_value_at, "p(pl)", leaf;
            tally_weak_set_new, "p(i)", safepoint;
            tally_weak_set_add, "v(pp)", safepoint;
            tally_weak_set_probe, "p(pip)", leaf;
            tally_weak_set_remove, "i(pp)", leaf;
            tally_weak_set_count, "l(p)", leaf;
            tally_weak_set_next, "p(pp)", leaf;
            llvm_gc_initialize, "v(i)", leaf;
            llvm_gc_allocate, "p(i)", safepoint;
            llvm_gc_collect, "v()", safepoint;
            llvm_cg_walk_gcroots, "v(p)", safepoint;
            tally_walk_roots, "v(pp)", safepoint;
            tally_trace_with, "v(p)", leaf;
        }
    };
}

/// The meaning of a call of a runtime symbol to the compiled caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// May run an epoch; the call carries a bundle naming the roots.
    Safepoint,
    /// Never runs an epoch.
    Leaf,
}

/// One entry of the list, as data.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeSymbol {
    /// The C symbol.
    pub name: &'static str,
    /// Its signature: letters for the result and, in parentheses, the parameters (`p` pointer, `l` i64, `i` i32, `v`
    /// void).
    pub signature: &'static str,
    /// Safepoint or leaf.
    pub kind: CallKind,
}

impl RuntimeSymbol {
    /// Whether it makes an object of the heap and returns it.
    pub fn allocates(&self) -> bool {
        let hands_over = ["tally_call_managed", "tally_stack_switch", "tally_stack_current"].contains(&self.name);
        self.kind == CallKind::Safepoint && self.signature.starts_with('p') && !hands_over
    }

    /// Whether its result is a reference, valid until the next safepoint: the other allocations beside `tally_new`,
    /// and the results of services.
    pub fn returns_reference(&self) -> bool {
        let kinds = [
            "tally_try_new",
            "tally_host_new",
            "tally_weak_",
            "tally_ephemeron_",
            "tally_new",
            "tally_stack_",
            "llvm_gc_allocate",
        ];
        kinds.iter().any(|prefix| self.name.starts_with(prefix)) && self.signature.starts_with('p')
    }
}

macro_rules! table {
    ($($name:ident, $signature:literal, $kind:ident;)*) => {
        /// The list as a table.
        pub const RUNTIME_SYMBOLS: &[RuntimeSymbol] = &[
            $(RuntimeSymbol { name: stringify!($name), signature: $signature, kind: table!(@ $kind) },)*
        ];
    };
    (@ safepoint) => { CallKind::Safepoint };
    (@ leaf) => { CallKind::Leaf };
}
for_each_runtime_symbol!(table);
