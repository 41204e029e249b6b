//! The types that a thread has asked for lately, by the addresses of their descriptors: native code names a type so at each
//! allocation, and the shared map takes a lock.
//!
//! An answer holds as long as no descriptor has been forgotten since, and the descriptor's content is that of the type's.

use super::{DescriptorImage, TypeId};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A registered type, and the content of its descriptor: memory of a module that went away may hold another.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) id: TypeId,
    pub(super) image: DescriptorImage,
}

/// What stands for a descriptor.
#[derive(Debug, Clone, Copy)]
struct Answer {
    address: u64,
    forgotten: u64,
    known: &'static Known,
}

/// Places for answers: an address has one of them.
const PLACES: usize = 16;

thread_local! {
    static ANSWERS: [Cell<Option<Answer>>; PLACES] = const { [const { Cell::new(None) }; PLACES] };
}

/// Descriptors that were forgotten so far.
static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

/// Descriptors are 128 bytes apart, and their last bits are alike.
#[inline(always)]
fn place_of(address: u64) -> usize {
    (address >> 3 ^ address >> 7) as usize % PLACES
}

/// The type of the descriptor at an address with that content, if the thread has asked for it lately.
#[inline(always)]
pub(super) fn of(address: u64, image: &DescriptorImage) -> Option<TypeId> {
    let answer = ANSWERS.with(|answers| answers[place_of(address)].get())?;
    let holds = answer.address == address && answer.forgotten == FORGOTTEN.load(Ordering::Acquire);
    (holds && answer.known.image == *image).then_some(answer.known.id)
}

/// The map's answer for an address, and how many descriptors had been forgotten before it was asked.
pub(super) fn note(address: u64, known: &'static Known, forgotten: u64) {
    ANSWERS.with(|answers| answers[place_of(address)].set(Some(Answer { address, forgotten, known })));
}

/// How many descriptors have been forgotten.
pub(super) fn forgotten() -> u64 {
    FORGOTTEN.load(Ordering::Acquire)
}

/// A descriptor is forgotten: no answer of any thread holds any more.
pub(super) fn forget() {
    FORGOTTEN.fetch_add(1, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use crate::descriptor::TypeDescriptor;
    use crate::type_registry::{TypeId, forget, known, register};

    fn type_at(memory: *mut TypeDescriptor) -> TypeId {
        // SAFETY: [DESCRIPTOR] a sound descriptor that stays; nothing refers to it longer than this.
        register(unsafe { &*memory }).expect("a sound descriptor")
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn memory_that_holds_another_descriptor_is_another_type() {
        let memory = Box::into_raw(Box::new(TypeDescriptor::plain(c"First", 16, &[0])));
        let first = type_at(memory);
        assert_eq!(type_at(memory), first);
        // SAFETY: nothing refers to it.
        unsafe { *memory = TypeDescriptor::plain(c"Second", 24, &[8]) };
        let second = type_at(memory);
        assert_eq!((&*first.info().name, &*second.info().name), ("First", "Second"));
        assert_eq!((type_at(memory), known(memory)), (second, Some(second)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_descriptor_that_was_forgotten_is_registered_anew_on_every_thread() {
        let memory = Box::into_raw(Box::new(TypeDescriptor::plain(c"Gone", 16, &[0])));
        let (first, address) = (type_at(memory), memory as usize);
        std::thread::spawn(move || forget(address as *const TypeDescriptor)).join().expect("it forgets");
        assert_eq!(known(memory), None);
        let second = type_at(memory);
        assert!(second != first && known(memory) == Some(second));
    }
}
