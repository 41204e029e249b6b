//! The types that were asked for lately, by the addresses of their descriptors: native code names a type so at each allocation, and
//! the shared map takes a lock.
//!
//! All threads share the answers. (A plugin of clang has no room for words of each thread.) An answer holds until its descriptor is
//! forgotten, as long as the descriptor's content is that of the type's.

use super::{DescriptorImage, TypeId};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A registered type, and the address and content of its descriptor: memory of a module that went away may hold another.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) id: TypeId,
    pub(super) address: u64,
    pub(super) image: DescriptorImage,
    /// The descriptor has been forgotten.
    pub(super) is_forgotten: AtomicBool,
}

/// Places for answers: an address has one of them.
const PLACES: usize = 16;

static ANSWERS: [AtomicPtr<Known>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];

/// Descriptors are 128 bytes apart, and their last bits are alike.
#[inline(always)]
fn place_of(address: u64) -> &'static AtomicPtr<Known> {
    &ANSWERS[(address >> 3 ^ address >> 7) as usize % PLACES]
}

/// The type of the descriptor at an address with that content, if it was asked for lately.
#[inline(always)]
pub(super) fn of(address: u64, image: &DescriptorImage) -> Option<TypeId> {
    // SAFETY: null, or what `note` was given, which stays.
    let known = unsafe { place_of(address).load(Ordering::Acquire).as_ref() }?;
    let holds = known.address == address && !known.is_forgotten.load(Ordering::Acquire);
    (holds && known.image == *image).then_some(known.id)
}

/// The map's answer.
pub(super) fn note(known: &'static Known) {
    place_of(known.address).store(ptr::from_ref(known).cast_mut(), Ordering::Release);
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
