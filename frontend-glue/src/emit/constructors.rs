//! Constructors and destructors of a module, in the form that its destination runs.
//!
//! IR has `llvm.global_ctors` and `llvm.global_dtors`. Neither way runs a constructor by itself: a code generator
//! made through LLVM's C interface writes sections (`.ctors`) that linkers and C libraries no longer run, and ORC,
//! through its C interface, runs no constructors at all. So the arrays are replaced just before emission.
//!
//! `place_for_linker` makes a pointer of each entry in the section that the linker sorts and the
//! C library runs:
//!
//! ```text
//!   @tally.constructor = internal global ptr @f, section ".init_array.101"   (.fini_array.101)
//! ```
//!
//! `export_for_host` makes tables under names that can be looked up:
//!
//! ```text
//!   @tally.constructors.3 = constant { i64 n, [n x { i64 priority, ptr function }] }
//!   @tally.destructors.3  = …
//! ```
//!
//! The host reads the tables of all modules with [`read`], sorts by priority as a linker would (stable: modules in
//! command line order, entries in order of appearance), runs constructors forwards, and destructors backwards at
//! exit. The tables are data, not generated calls, so that priorities order constructors *across* modules.

use inkwell::AddressSpace;
use inkwell::comdat::Comdat;
use inkwell::llvm_sys::comdat::LLVMGetComdat;
use inkwell::llvm_sys::core::{LLVMGetAggregateElement, LLVMIsAGlobalObject, LLVMIsNull, LLVMIsUndef};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::{Linkage, Module};
use inkwell::values::{AsValueRef, BasicValueEnum, PointerValue, StructValue};

/// The priority of an entry without one.
const USUAL_PRIORITY: u64 = 65535;

/// One entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Lower runs earlier (constructors) or later (destructors).
    pub(crate) priority: u64,
    /// `extern "C" fn()`.
    pub function: u64,
}

/// The two kinds of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs before `main`.
    Constructors,
    /// Runs at exit.
    Destructors,
}

impl Kind {
    /// The symbol of module `index`'s table.
    pub fn symbol(self, index: usize) -> String {
        match self {
            Kind::Constructors => format!("tally.constructors.{index}"),
            Kind::Destructors => format!("tally.destructors.{index}"),
        }
    }

    /// The section for entries of `priority`; the usual one has no number.
    fn section(self, priority: u64) -> String {
        let name = match self {
            Kind::Constructors => ".init_array",
            Kind::Destructors => ".fini_array",
        };
        if priority == USUAL_PRIORITY { name.to_owned() } else { format!("{name}.{priority}") }
    }

    fn pointer_name(self) -> &'static str {
        match self {
            Kind::Constructors => "tally.constructor",
            Kind::Destructors => "tally.destructor",
        }
    }

    fn llvm_name(self) -> &'static str {
        match self {
            Kind::Constructors => "llvm.global_ctors",
            Kind::Destructors => "llvm.global_dtors",
        }
    }
}

/// Replaces both of LLVM's arrays by pointers in the sections that the C library runs.
pub(crate) fn place_for_linker(module: &Module) {
    for kind in [Kind::Constructors, Kind::Destructors] {
        for entry in take(module, kind) {
            let pointer = module.add_global(entry.function.get_type(), None, kind.pointer_name());
            pointer.set_linkage(Linkage::Internal);
            pointer.set_initializer(&entry.function);
            pointer.set_section(Some(&kind.section(entry.priority)));
            // With the data it initialises, the linker drops the constructor.
            if let Some(comdat) = entry.comdat {
                pointer.set_comdat(comdat);
            }
        }
    }
}

/// Replaces both of LLVM's arrays in `module`, the program's module number `index`, by tables.
pub(crate) fn export_for_host(module: &Module, index: usize) {
    for kind in [Kind::Constructors, Kind::Destructors] {
        let entries = take(module, kind);
        add_table(module, &kind.symbol(index), &entries);
    }
}

/// Reads the table at `address`.
///
/// # Safety
/// `address` must be that of a table made by `export_for_host`, in memory.
pub unsafe fn read(address: u64) -> Vec<Entry> {
    let words = address as *const u64;
    // SAFETY: the caller's duty; the first word counts the entries that follow.
    let count = unsafe { words.read() } as usize;
    (0..count)
        .map(|i| {
            // SAFETY: the caller's duty; the first word counts the entries that follow; `i` is below the count.
            let entry = unsafe { words.add(1 + 2 * i) };
            // SAFETY: as above.
            let [priority, function] = unsafe { entry.cast::<[u64; 2]>().read() };
            Entry { priority, function }
        })
        .collect()
}

/// An element of one of LLVM's arrays.
struct Element<'ctx> {
    priority: u64,
    function: PointerValue<'ctx>,
    /// The comdat of the data that the function initialises, if any.
    comdat: Option<Comdat>,
}

/// The elements of the array, which is deleted; null functions are left out.
fn take<'ctx>(module: &Module<'ctx>, kind: Kind) -> Vec<Element<'ctx>> {
    let Some(array) = module.get_global(kind.llvm_name()) else {
        return Vec::new();
    };
    let elements = array.get_initializer().map(|initializer| elements(initializer.as_value_ref())).unwrap_or_default();
    // SAFETY: nothing can refer to an appending `llvm.` array but LLVM itself.
    unsafe { array.delete() };
    elements
}

/// Reads `[n x { i32 priority, ptr function, ptr data }]`, of which a part or the whole may be zero or undefined.
fn elements<'ctx>(initializer: LLVMValueRef) -> Vec<Element<'ctx>> {
    // SAFETY: the initializer is a live constant.
    let is_null = unsafe { LLVMIsNull(initializer) } != 0;
    // SAFETY: as above.
    if is_null || unsafe { LLVMIsUndef(initializer) } != 0 {
        return Vec::new();
    }
    let members = (0..).map_while(|index| member(initializer, index));
    members.filter_map(element).collect()
}

/// A function to run; `None` if the entry names none, or its priority is no number.
fn element<'ctx>(entry: LLVMValueRef) -> Option<Element<'ctx>> {
    // SAFETY: LLVM's verifier has checked the types of the fields.
    let [priority, function, data] =
        [0, 1, 2].map(|index| member(entry, index).map(|field| unsafe { BasicValueEnum::new(field) }));
    let priority = priority?.into_int_value().get_zero_extended_constant()?;
    let function = function?.into_pointer_value();
    let data = data.map(BasicValueEnum::into_pointer_value);
    let runs = !function.is_null() && !function.is_undef();
    runs.then(|| Element { priority, function, comdat: data.and_then(comdat_of) })
}

/// A member of a constant array or struct, or none beyond its end.
fn member(aggregate: LLVMValueRef, index: u32) -> Option<LLVMValueRef> {
    // SAFETY: a live constant; LLVM checks whether it has such a member.
    let member = unsafe { LLVMGetAggregateElement(aggregate, index) };
    (!member.is_null()).then_some(member)
}

fn comdat_of(data: PointerValue) -> Option<Comdat> {
    // SAFETY: a live value.
    let global = unsafe { LLVMIsAGlobalObject(data.as_value_ref()) };
    if global.is_null() {
        return None;
    }
    // SAFETY: a live global.
    let comdat = unsafe { LLVMGetComdat(global) };
    // SAFETY: null, which means that it has none, is left out.
    (!comdat.is_null()).then(|| unsafe { Comdat::new(comdat) })
}

fn add_table<'ctx>(module: &Module<'ctx>, name: &str, elements: &[Element<'ctx>]) {
    let context = module.get_context();
    let word = context.i64_type();
    let pointer = context.ptr_type(AddressSpace::default());
    let entry = context.struct_type(&[word.into(), pointer.into()], false);
    let rows: Vec<StructValue> = elements
        .iter()
        .map(|element| {
            let priority = word.const_int(element.priority, false);
            entry.const_named_struct(&[priority.into(), element.function.into()])
        })
        .collect();
    let count = word.const_int(elements.len() as u64, false);
    let value = context.const_struct(&[count.into(), entry.const_array(&rows).into()], false);
    let table = module.add_global(value.get_type(), None, name);
    table.set_linkage(Linkage::External);
    table.set_constant(true);
    table.set_initializer(&value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    /// A module with two constructors after `change`.
    fn changed(change: impl FnOnce(&Module)) -> String {
        let text = "$data = comdat any\n@data = linkonce_odr global i32 0, comdat\n\
            @llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @a, ptr @data }, { i32, ptr, ptr } { i32 101, ptr @b, ptr null }]\n\
            define internal void @a() {\n  ret void\n}\ndefine internal void @b() {\n  ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        change(&module);
        module.verify().unwrap();
        module.print_to_string().to_string()
    }

    #[test]
    fn arrays_become_pointers_in_the_sections_of_their_priorities() {
        let text = changed(place_for_linker);
        assert!(!text.contains("llvm.global_ctors"), "{text}");
        let usual = "@tally.constructor = internal global ptr @a, section \".init_array\", comdat($data)\n";
        assert!(text.contains(usual), "{text}");
        let early = "@tally.constructor.1 = internal global ptr @b, section \".init_array.101\"\n";
        assert!(text.contains(early), "{text}");
    }

    #[test]
    fn arrays_become_tables() {
        let text = changed(|module| export_for_host(module, 4));
        assert!(!text.contains("llvm.global_ctors"), "{text}");
        assert!(
            text.contains("@tally.constructors.4 = constant { i64, [2 x { i64, ptr }] } { i64 2, [2 x { i64, ptr }] [{ i64, ptr } { i64 65535, ptr @a }, { i64, ptr } { i64 101, ptr @b }] }"),
            "{text}"
        );
        assert!(text.contains("@tally.destructors.4 = constant { i64, [0 x { i64, ptr }] }"), "{text}");
    }

    #[test]
    fn a_table_is_read_back() {
        let table: [u64; 5] = [2, 65535, 0x1000, 101, 0x2000];
        // SAFETY: the array has the layout of a table of two entries.
        let entries = unsafe { read(table.as_ptr() as u64) };
        let expected = [(65535, 0x1000), (101, 0x2000)].map(|(priority, function)| Entry { priority, function });
        assert_eq!(entries, expected);
    }
}
