//! What harms memory is refused in safe Rust by the crates inside as well: each row is a misuse that rustc refuses, with the
//! code that says why. `tally/tests/suite/misuse.rs` has the same for the facade.
//!
//! A function that takes an object, a slot, a heap or a mutator may stay safe, because safe code has none (`[HELD]`). The
//! snippets are given such values as parameters, to show that words and addresses do not become more of them.

use std::sync::OnceLock;
use tally_kit::snippets::Snippets;

/// What every snippet has before it.
const BEFORE: &str = "
use tally_collector::Mutator;
use tally_heap::descriptor::{RawDescriptor, TypeDescriptor};
use tally_heap::memory::bit_table::Granule;
use tally_heap::memory::range::{self, BUFFERED, LIVE, MARK, UNLOGGED};
use tally_heap::memory::{block_source, block_state};
use tally_heap::plan::prompt::CellSpace;
use tally_heap::type_registry::{self, TypeInfo};
use tally_heap::{Heap, HeapOptions, ObjectRef, Slot};
pub fn used<T>(_: T) {}
";

const PARAMETERS: &str = "object: ObjectRef, slot: Slot, heap: &mut Heap, m: &mut Mutator, info: &'static TypeInfo";

const RIGHT: &str = "
    static PAIR: TypeDescriptor = TypeDescriptor::plain(c\"Pair\", 16, &[0, 8]);
    used(type_registry::register(&PAIR));
    used((object.type_info().size, slot.read(), heap.plan(), m.collect(), &info.name));
    used(MARK.get(object.granule()) || UNLOGGED.get(slot.granule()));
    // Libraries of one build: the crates inside mean the same heap.
    let new: unsafe fn(HeapOptions) -> _ = Mutator::new;
    let thread_heap: unsafe fn() -> &'static mut Heap = tally_compiled::abi::thread_heap;
    used((new, thread_heap));
    used(tally_compiled::program::entry_return());";

fn snippets() -> &'static Snippets {
    static SNIPPETS: OnceLock<Snippets> = OnceLock::new();
    let crates = ["tally_compiled", "tally_collector", "tally_heap"];
    SNIPPETS.get_or_init(|| Snippets::new(&crates, BEFORE, PARAMETERS, RIGHT))
}

/// A call that the caller must promise something for, and does not.
const UNSAFE_FUNCTION: &str = "E0133";

fn are_refused(rows: &[(&str, &str)]) {
    for &(body, code) in rows {
        snippets().refused(&format!("    {body}"), code);
    }
}

#[test]
fn a_wrong_descriptor_is_not_made() {
    are_refused(&[
        ("used(TypeDescriptor { size: 8, ..TypeDescriptor::plain(c\"\", 8, &[]) });", "E0560"),
        ("used(TypeDescriptor(*TypeDescriptor::plain(c\"\", 8, &[])));", "E0423"),
        ("let mut pair = TypeDescriptor::plain(c\"\", 8, &[]); pair.size = 1 << 40;", "E0594"),
        ("let mut pair = TypeDescriptor::plain(c\"\", 8, &[]); pair.name = 8 as *const _;", "E0594"),
        ("used(TypeDescriptor::from_raw(*TypeDescriptor::plain(c\"\", 8, &[])));", UNSAFE_FUNCTION),
        (
            "let raw: RawDescriptor = *TypeDescriptor::plain(c\"\", 8, &[]); used(type_registry::describe(&raw));",
            "E0308",
        ),
        (
            "unsafe extern \"C-unwind\" fn close(_: *mut std::ffi::c_void) {}
    used(TypeDescriptor::plain(c\"\", 8, &[]).finalized(close));",
            UNSAFE_FUNCTION,
        ),
        (
            "unsafe extern \"C\" fn clear(_: *mut std::ffi::c_void, _: *mut std::ffi::c_void) {}
    info.set_on_clear(clear);",
            UNSAFE_FUNCTION,
        ),
    ]);
}

#[test]
fn no_heap_is_made() {
    are_refused(&[
        ("used(Mutator::new(HeapOptions::default()));", UNSAFE_FUNCTION),
        ("used(Mutator::in_finalizer(|inner| used(inner.collect())));", UNSAFE_FUNCTION),
        (
            "used(tally_collector::mutator::new_heap(HeapOptions::default(), Box::new(tally_collector::root_source::NoStack)));",
            UNSAFE_FUNCTION,
        ),
        ("used(Heap::new(HeapOptions::default(), panic!()));", UNSAFE_FUNCTION),
        ("used(Heap::collect(heap));", "E0308"),
        ("used(tally_heap::HeapEntry::of(heap));", UNSAFE_FUNCTION),
        ("used(tally_compiled::abi::thread_heap());", UNSAFE_FUNCTION),
    ]);
}

#[test]
fn no_word_becomes_an_object_or_a_slot() {
    are_refused(&[
        ("used(ObjectRef::from_address(8));", UNSAFE_FUNCTION),
        ("used(ObjectRef::of_word(8));", UNSAFE_FUNCTION),
        ("used(Slot::from_address(8));", UNSAFE_FUNCTION),
        ("used(TypeInfo::of_meta(7));", UNSAFE_FUNCTION),
        ("object.set_meta(7);", "E0624"),
        ("used(tally_heap::TypeId(7).info());", "E0603"),
        ("used(info.decode(8));", UNSAFE_FUNCTION),
        ("info.for_each_reference_in_root(8, |_| {});", UNSAFE_FUNCTION),
        ("used(tally_heap::services::weak_map::object_of(8));", UNSAFE_FUNCTION),
        ("used(CellSpace::object_at(8));", UNSAFE_FUNCTION),
        ("used(CellSpace::objects_in(8));", UNSAFE_FUNCTION),
        ("used(CellSpace::carved(8));", UNSAFE_FUNCTION),
        ("used(tally_heap::plan::prompt::Carved { first: 8, cell: 16, count: 1 });", "E0451"),
        ("tally_compiled::stack::shadow_stack::visit(0, 0..8, |_, _| 0);", UNSAFE_FUNCTION),
    ]);
}

#[test]
fn no_word_becomes_a_root_or_a_field() {
    are_refused(&[
        ("used(heap.new_handle(8));", UNSAFE_FUNCTION),
        ("used(heap.new_global(8));", UNSAFE_FUNCTION),
        ("used(heap.context_mut().push_handle(8));", UNSAFE_FUNCTION),
        ("heap.set_handle(8, 8);", UNSAFE_FUNCTION),
        ("used(heap.weak_map_get(object, 8));", UNSAFE_FUNCTION),
        ("used(heap.weak_map_set(object, 8, 8));", UNSAFE_FUNCTION),
        ("used(heap.weak_map_remove(object, 8));", UNSAFE_FUNCTION),
        ("heap.copy_references(object, slot, 8, 1);", UNSAFE_FUNCTION),
        ("heap.fill_references(object, slot, 8, 1);", UNSAFE_FUNCTION),
        ("m.copy_refs(object, slot, 8, 1);", UNSAFE_FUNCTION),
    ]);
}

#[test]
fn no_number_becomes_a_block_and_no_address_a_place_in_a_table() {
    are_refused(&[
        ("used(Granule::at(8));", UNSAFE_FUNCTION),
        ("used(Granule(8));", "E0423"),
        ("used(MARK.get(8));", "E0308"),
        ("BUFFERED.set(8);", "E0308"),
        ("LIVE.set_range(8, 16);", UNSAFE_FUNCTION),
        ("LIVE.clear_cell(8, 16);", UNSAFE_FUNCTION),
        ("UNLOGGED.zero_blocks(8, 1);", UNSAFE_FUNCTION),
        ("used(LIVE.next_in_block(8, 16));", UNSAFE_FUNCTION),
        ("range::release_pages(8, 16);", UNSAFE_FUNCTION),
        ("range::provide_pages(8, 16);", UNSAFE_FUNCTION),
        ("range::clear_block_info(8);", UNSAFE_FUNCTION),
        ("range::set_owner(8, 1);", UNSAFE_FUNCTION),
        ("used(range::owner_of(1 << 31));", UNSAFE_FUNCTION),
        ("block_state::clear_tables(8);", UNSAFE_FUNCTION),
        ("block_source::give_back(8, 1);", UNSAFE_FUNCTION),
        ("CellSpace::set_young(8, true);", UNSAFE_FUNCTION),
        ("CellSpace::grow_up(8);", UNSAFE_FUNCTION),
        ("CellSpace::mark_list(8);", UNSAFE_FUNCTION),
        ("used(heap.owns_address(8));", UNSAFE_FUNCTION),
    ]);
}

#[test]
fn no_module_is_registered_or_taken_away() {
    are_refused(&[
        ("used(tally_compiled::module::registry::register(std::ptr::null()));", UNSAFE_FUNCTION),
        ("tally_compiled::module::registry::unregister(std::ptr::null());", UNSAFE_FUNCTION),
    ]);
}
