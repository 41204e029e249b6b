//! The record of a lowered module for the runtime, and the constructor that registers it.
//!
//! ```text
//!   @tally.module   the record (tally_compiled::module::record), with pointers to
//!   @tally.types      one handle per type that the module allocates; the runtime fills in the type id
//!   @tally.globals    slots in global variables that hold references
//!   @tally.roots      id, descriptor, name and function of every stack root, by id
//!   a text            names of fields, lines of roots and places of calls, where they are asked for (tally_compiled::module::names)
//!   @__LLVM_StackMaps the module's own stack maps: external and hidden, it binds to the label in this very object
//!   tally.register, tally.unregister in llvm.global_ctors and llvm.global_dtors
//! ```
//!
//! The constructor alone has priority 0, and those of the program that had it get 1: so it runs before the program's
//! own, of all modules that are linked, which may allocate and call each other. A function with one `llvm.experimental.stackmap` keeps the label defined in modules whose every
//! safepoint was optimised away. The layouts are asserted below against the runtime's `repr(C)` declarations.

use super::Plan;
use super::descriptor::Descriptor;
use super::descriptor::constants::label;
use super::global_slots::{self, base_global, global_behind};
use super::named_root::NamedRoot;
use super::names::call_sites;
use super::roots::Root;
use super::runtime::declare;
use super::strategy;
use crate::emit::appending::{append_used, prepend_structor};
use crate::llvm::{Builder, HandleMap, Module, Type, Value, Visibility};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::mem::{offset_of, size_of};
use std::rc::Rc;
use tally_compiled::module::driver::WITHOUT_MODULE;
use tally_compiled::module::record::{
    GlobalRoot, METADATA_ROOT, MODULE_FLAG_BARRIERS, MODULE_FLAG_COUNTS, MODULE_FLAG_LENDS, MODULE_FLAG_METADATA,
    MODULE_FLAG_STATEPOINTS, MODULE_VERSION, ModuleRecord, RootInfo, TypeHandle,
};

/// The constructor that registers a module.
const REGISTER: &str = "tally.register";

/// The tables of the record while they grow.
#[derive(Debug)]
pub(super) struct ModuleTables {
    types: Vec<Value>,
    type_index: HashMap<Value, usize>,
    /// Stands in for `@tally.types` until its length is known.
    /// The descriptors of allocations, each read once.
    descriptors: HandleMap<Value, Option<Rc<Descriptor>>>,
    types_stand_in: Option<Value>,
    globals: Vec<Value>,
    /// The same as global and offset: one word has many constant addresses, and must be registered once.
    global_set: HashSet<(Value, u64)>,
    roots: Vec<(NamedRoot, Option<Value>)>,
    /// Names of fields and places of roots, in a module that keeps names.
    pub(super) names: String,
    /// What makes the numbers of calls, in a module that keeps their places.
    pub(super) numbers_calls_of: Option<String>,
    plan: Plan,
    /// The stack maps are those of statepoints.
    pub(super) has_statepoints: bool,
    /// The module has only code that was imported, which its own module's record describes.
    only_imports: bool,
}

impl ModuleTables {
    pub(super) fn new(plan: Plan) -> ModuleTables {
        ModuleTables {
            types: Vec::new(),
            type_index: HashMap::new(),
            descriptors: HandleMap::default(),
            types_stand_in: None,
            globals: Vec::new(),
            global_set: HashSet::new(),
            roots: Vec::new(),
            names: String::new(),
            numbers_calls_of: None,
            plan,
            has_statepoints: false,
            only_imports: false,
        }
    }

    /// Those of a module that has nothing of its own but stack maps.
    pub(super) fn of_imports(plan: Plan) -> ModuleTables {
        ModuleTables { only_imports: true, ..ModuleTables::new(plan) }
    }

    /// What the module shows of a descriptor.
    pub(super) fn descriptor(&mut self, module: Module, address: Value) -> Option<Rc<Descriptor>> {
        self.descriptors.entry(address).or_insert_with(|| Descriptor::read(module, address).map(Rc::new)).clone()
    }

    /// The address of the handle of a type.
    pub(super) fn type_handle(&mut self, module: Module, descriptor: Value) -> Value {
        let stand_in = *self
            .types_stand_in
            .get_or_insert_with(|| module.add_global("tally.types.stand_in", handle_type(module).array(0)));
        let index = *self.type_index.entry(descriptor).or_insert_with(|| {
            self.types.push(descriptor);
            self.types.len() - 1
        });
        module.constant_offset(stand_in, (index * size_of::<TypeHandle>()) as u64)
    }

    /// Notes the words of a global that a write to `slot` may mean.
    pub(super) fn global_root(&mut self, module: Module, slot: Value) {
        let global = global_behind(slot).expect("verified: the slot lies in a global");
        for word in global_slots::words(module, global, slot) {
            if self.global_set.insert((global, word)) {
                self.globals.push(if word == 0 { global } else { module.constant_offset(global, word) });
            }
        }
    }

    pub(super) fn stack_roots(&mut self, function: Value, roots: &[Root]) {
        for (root, place) in roots.iter().filter_map(|root| Some((root, root.place.as_ref()?))) {
            _ = writeln!(self.names, "@{} {} {}", root.id, place.line, place.file);
        }
        let is_defined = |plain: &str| function.module().function(plain).is_some_and(Value::has_body);
        let in_source = call_sites::name_in_source(function, is_defined);
        self.roots.extend(roots.iter().map(|root| {
            let named = NamedRoot {
                id: root.id,
                name: root.name.clone(),
                function: in_source.clone(),
                descriptor: root.how.map(|how| label(function.module(), how)),
            };
            (named, root.how)
        }));
    }

    pub(super) fn type_count(&self) -> usize {
        self.types.len()
    }

    pub(super) fn global_count(&self) -> usize {
        self.globals.len()
    }

    pub(super) fn into_named_roots(self) -> Vec<NamedRoot> {
        self.roots.into_iter().map(|(named, _)| named).collect()
    }

    fn flags(&self, module: Module) -> u32 {
        let lends = match self.plan {
            Plan::Deferred => MODULE_FLAG_LENDS,
            Plan::Prompt | Plan::Trace => 0,
        };
        let asks = module.function("tally_get_statistics").is_some_and(|function| function.users().next().is_some());
        let statepoints = if self.has_statepoints { MODULE_FLAG_STATEPOINTS } else { 0 };
        let has_metadata = self.roots.iter().any(|(named, _)| named.id & METADATA_ROOT != 0);
        let metadata = if has_metadata { MODULE_FLAG_METADATA } else { 0 };
        let promised = !self.plan.has_barrier() && (self.only_imports || strategy::has_barrier(module, self.plan));
        let barriers = if promised { MODULE_FLAG_BARRIERS } else { 0 };
        self.plan.module_flags() | lends | statepoints | metadata | barriers | if asks { MODULE_FLAG_COUNTS } else { 0 }
    }

    /// Writes the record with its tables and constructors.
    pub(super) fn emit(&mut self, builder: &Builder, module_name: &str) {
        let module = builder.module();
        if let Some(identity) = self.numbers_calls_of.take().filter(|_| !self.has_statepoints) {
            call_sites::number(builder, &identity, &mut self.names);
        }
        let types = self.emit_types(module);
        let globals = self.emit_globals(module);
        let roots = self.emit_roots(module);
        let stack_maps = module.add_global("__LLVM_StackMaps", module.integer(8));
        stack_maps.set_visibility(Visibility::Hidden);
        let names = if self.names.is_empty() { module.pointer().null() } else { module.text_global(&self.names) };
        let count = |length: usize| builder.i64(length as u64);
        let record = module.structure_constant(&[
            builder.i32(u64::from(MODULE_VERSION)),
            builder.i32(u64::from(self.flags(module))),
            module.text_global(module_name),
            stack_maps,
            builder.i64(0),
            count(self.types.len()),
            types,
            count(self.globals.len()),
            globals,
            count(self.roots.len()),
            roots,
            names,
        ]);
        assert_layout(module, record.type_of(), size_of::<ModuleRecord>(), 7, offset_of!(ModuleRecord, global_count));
        let record = table(module, "tally.module", record, false);
        // That of its plan: an executable has the collectors whose functions are called.
        let by = match self.plan {
            Plan::Deferred => "tally_register_deferred",
            Plan::Prompt => "tally_register_prompt",
            Plan::Trace => "tally_register_trace",
        };
        leave_out_deferred(module, self.plan);
        let register = call_with_record(builder, REGISTER, by, record);
        let unregister = call_with_record(builder, "tally.unregister", "tally_unregister_module", record);
        prepend_structor(module, "llvm.global_ctors", register);
        prepend_structor(module, "llvm.global_dtors", unregister);
        keep_stack_map_label(builder);
    }

    fn emit_types(&mut self, module: Module) -> Value {
        let zero = module.integer(32).constant(0);
        let handles: Vec<Value> =
            self.types.iter().map(|&descriptor| module.structure_constant(&[descriptor, zero, zero])).collect();
        let of = handle_type(module);
        assert_layout(module, of, size_of::<TypeHandle>(), 1, offset_of!(TypeHandle, meta));
        let types = array(module, "tally.types", of, &handles, false);
        if let Some(stand_in) = self.types_stand_in.take() {
            stand_in.replace_all_uses(types);
            module.delete_global(stand_in);
        }
        types
    }

    fn emit_globals(&self, module: Module) -> Value {
        let pointer = module.pointer();
        let of = module.structure(&[pointer; 3]);
        assert_layout(module, of, size_of::<GlobalRoot>(), 1, offset_of!(GlobalRoot, how));
        let entry = |&slot: &Value| {
            let name = module.text_global(&base_global(slot).map(Value::name).unwrap_or_default());
            module.structure_constant(&[slot, pointer.null(), name])
        };
        array(module, "tally.globals", of, &self.globals.iter().map(entry).collect::<Vec<_>>(), true)
    }

    fn emit_roots(&self, module: Module) -> Value {
        let pointer = module.pointer();
        let of = module.structure(&[module.integer(64), pointer, pointer, pointer]);
        assert_layout(module, of, size_of::<RootInfo>(), 2, offset_of!(RootInfo, name));
        let mut texts: HashMap<String, Value> = HashMap::new();
        let mut text = |name: &str| match texts.get(name) {
            Some(&text) => text,
            None => {
                let text = module.text_global(name);
                texts.insert(name.to_owned(), text);
                text
            }
        };
        // The runtime searches the table where it lies.
        let mut sorted: Vec<_> = self.roots.iter().collect();
        sorted.sort_by_key(|(named, _)| named.id);
        let entries: Vec<Value> = sorted
            .into_iter()
            .map(|(named, how)| {
                let id = module.integer(64).constant(named.id);
                let how = how.unwrap_or_else(|| pointer.null());
                module.structure_constant(&[id, how, text(&named.name), text(&named.function)])
            })
            .collect();
        array(module, "tally.roots", of, &entries, true)
    }
}

fn handle_type(module: Module) -> Type {
    module.structure(&[module.pointer(), module.integer(32), module.integer(32)])
}

/// The struct we emit has the size of the runtime's, and one member in the middle lies where the runtime has it.
fn assert_layout(module: Module, of: Type, bytes: usize, member: u32, offset: usize) {
    assert_eq!(module.size_of(of), bytes as u64, "[HEADER] layout differs from the runtime's");
    assert_eq!(module.member_offset(of, member), offset as u64, "[HEADER] layout differs from the runtime's");
}

fn table(module: Module, name: &str, value: Value, constant: bool) -> Value {
    let global = module.add_global(name, value.type_of());
    global.set_initializer(value);
    global.set_visibility(Visibility::Internal);
    global.set_alignment(8);
    if constant {
        global.set_global_constant();
    }
    global
}

/// A table of `entries`; the null address when there are none.
fn array(module: Module, name: &str, of: Type, entries: &[Value], constant: bool) -> Value {
    if entries.is_empty() {
        return module.pointer().null();
    }
    table(module, name, module.array_constant(of, entries), constant)
}

/// Whether a module has a record.
pub(super) fn is_there(module: Module) -> bool {
    module.functions().any(|function| function.has_body() && function.name().starts_with(REGISTER))
}

fn call_with_record(builder: &Builder, name: &str, runtime: &str, record: Value) -> Value {
    let module = builder.module();
    let callee = declare(module, runtime);
    let function = module.add_function(name, Type::function(module.void(), &[], false));
    function.set_visibility(Visibility::Internal);
    super::walkable::make_walkable(function, None);
    builder.at_end_unlocated(function.append_block(""));
    builder.call(callee.value_type(), callee, &[record]);
    builder.return_value(None);
    function
}

/// Programs of the other plans need no collector of the deferred one: no heap of theirs is without a module.
fn leave_out_deferred(module: Module, plan: Plan) {
    match plan {
        Plan::Deferred => {}
        Plan::Prompt | Plan::Trace => {
            let driver = module.add_global(WITHOUT_MODULE, module.pointer());
            driver.set_initializer(module.pointer().null());
            driver.set_global_constant();
            driver.share_in_program();
        }
    }
}

fn keep_stack_map_label(builder: &Builder) {
    let module = builder.module();
    let function = module.add_function("tally.stack_map_label", Type::function(module.void(), &[], false));
    // Else instrumenting passes make an invoke of the intrinsic below, which LLVM then refuses.
    function.set_attribute("nounwind", 0);
    function.set_visibility(Visibility::Internal);
    builder.at_end_unlocated(function.append_block(""));
    let stack_map = module.intrinsic("llvm.experimental.stackmap", &[]);
    builder.call(stack_map.value_type(), stack_map, &[builder.i64(0), builder.i32(0)]);
    builder.return_value(None);
    append_used(module, function);
}
