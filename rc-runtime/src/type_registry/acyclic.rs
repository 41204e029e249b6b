//! Static acyclicity: a type is acyclic when it says so, when it has no references, or when following the
//! declared field types from it never leads back to it nor to a field of unknown type. An acyclic object is never a
//! candidate for the cycle detector. `[CANDIDATE]`

use crate::descriptor::{SlotKind, TypeDescriptor};
use rustc_hash::FxHashSet;

/// Follows the declared field types; anything undeclared could be anything.
pub(super) fn may_reach_itself(start: &TypeDescriptor) -> bool {
    let mut seen: FxHashSet<*const TypeDescriptor> = FxHashSet::default();
    let mut queue: Vec<*const TypeDescriptor> = vec![start];
    while let Some(next) = queue.pop() {
        // SAFETY: field types are constants of the same program as the descriptor that names them.
        let descriptor = unsafe { &*next };
        if descriptor.check().is_err() || descriptor.slot_kind == SlotKind::Trace as u32 {
            return true;
        }
        let fields = [
            (descriptor.ref_types, descriptor.ref_count),
            (descriptor.element_ref_types, descriptor.element_ref_count),
        ];
        for (table, count) in fields {
            if count > 0 && table.is_null() {
                return true;
            }
            for index in 0..count as usize {
                // SAFETY: a non-null table has one entry per reference.
                let field = unsafe { *table.wrapping_add(index) };
                if field.is_null() || std::ptr::eq(field, start) {
                    return true;
                }
                if seen.insert(field) {
                    queue.push(field);
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::descriptor::TypeDescriptor;
    use crate::type_registry::describe;

    #[test]
    fn acyclic_follows_from_declared_fields() {
        static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 24, &[]);
        static FIELDS: [Option<&TypeDescriptor>; 1] = [Some(&TEXT)];
        let name = TypeDescriptor::plain(c"Name", 8, &[0]);
        assert!(describe(&name).expect("sound").may_be_cyclic, "a field of unknown type may hold anything");
        let name = name.with_field_types(&FIELDS);
        assert!(!describe(&name).expect("sound").may_be_cyclic);
        assert!(!describe(&TEXT).expect("sound").may_be_cyclic);
    }

    #[test]
    fn a_type_that_reaches_itself_through_another_is_cyclic() {
        static PARENT: TypeDescriptor = TypeDescriptor::plain(c"Parent", 8, &[0]).with_field_types(&[Some(&CHILD)]);
        static CHILD: TypeDescriptor = TypeDescriptor::plain(c"Child", 8, &[0]).with_field_types(&[Some(&PARENT)]);
        assert!(describe(&PARENT).expect("sound").may_be_cyclic);
    }
}
