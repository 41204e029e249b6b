//! Why an object is alive: what holds it, a shortest path from a root, the objects of a type.
//!
//! Nothing changes, so none of these is a safepoint, and bare references stay good. Each takes the time of a mark of all
//! that lives, and about 30 bytes for each object that roots reach.

use crate::field::Ref;
use crate::scope::Scope;
use crate::type_id::TypeId;
use std::fmt;
use std::ops::ControlFlow;
use tally_heap::ObjectRef;
use tally_heap::services::reach::{Holder as Inner, Root};

/// What holds an object: a root, or another object by a field. Its text is for people.
///
/// ```
/// use tally::{Heap, HeapOptions, Holder, Root, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 16).reference("next", 0).register()?;
/// let mut scope = heap.scope();
/// let list = scope.allocate(node)?;
/// {
///     let mut inner = scope.nested();
///     let last = inner.allocate(node)?;
///     inner.set_field(inner.get(list), 0, Some(inner.get(last)));
/// }
/// let last = scope.get(list).field(0).expect("the list holds it");
/// let path = scope.why_alive(last);
/// assert!(matches!(path[0], Holder::Root(Root::Handle)));
/// assert!(path[1].to_string().ends_with(", next"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// A root.
    Root(Root),
    /// An object.
    #[non_exhaustive]
    Object {
        /// Its type's name.
        type_name: &'static str,
        /// Where it is. The address is no reference.
        address: u64,
        /// The field that holds the object; empty where it is not known.
        field: String,
        /// The offset of that word; `None` where it is not known.
        offset: Option<u64>,
    },
}

impl Holder {
    fn of(holder: &Inner) -> Holder {
        match holder {
            Inner::Root(root) => Holder::Root(root.clone()),
            Inner::Object(object, offset) => {
                let info = object.type_info();
                let field = offset.map_or_else(String::new, |offset| info.field_name(offset));
                Holder::Object { type_name: &info.name, address: object.address(), field, offset: *offset }
            }
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Root(root) => root.fmt(f),
            Holder::Object { type_name, address, field, .. } => {
                write!(f, "`{type_name}` at {address:#x}")?;
                if field.is_empty() { Ok(()) } else { write!(f, ", {field}") }
            }
        }
    }
}

impl Scope<'_> {
    /// A shortest path from a root to the object: the root, then each object with the field that leads on. Empty if no
    /// root reaches it: nothing but this reference does, or only weak ones.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn why_alive(&self, object: Ref<'_>) -> Vec<Holder> {
        self.check(object.address());
        let path = self.leaf(|inner| inner.why_alive(&mut |_| (), object.object));
        path.iter().map(|link| Holder::of(&link.holder)).collect()
    }

    /// The roots that hold the object, and the objects that refer to it and that roots reach, nearest first.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let pair = TypeBuilder::new("Pair", 16).reference("first", 0).reference("second", 8).register()?;
    /// let mut scope = heap.scope();
    /// let pair = scope.allocate(pair)?;
    /// scope.set_field(scope.get(pair), 8, Some(scope.get(pair)));
    /// let holders: Vec<String> = scope.referrers_of(scope.get(pair)).iter().map(|holder| holder.to_string()).collect();
    /// assert_eq!(holders[0], "a handle");
    /// assert!(holders[1].starts_with("`Pair` at 0x") && holders[1].ends_with(", second"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn referrers_of(&self, object: Ref<'_>) -> Vec<Holder> {
        self.check(object.address());
        let mut holders = vec![];
        self.leaf(|inner| inner.referrers_of(&mut |_| (), object.object, |holder| holders.push(Holder::of(&holder))));
        holders
    }

    /// The objects of a type that roots reach, those nearest to roots first.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let node = TypeBuilder::new("Node", 16).reference("next", 0).register()?;
    /// let mut scope = heap.scope();
    /// let kept = scope.allocate(node)?;
    /// scope.nested().allocate(node)?; // garbage
    /// assert_eq!(scope.objects_of(node), [scope.get(kept)]);
    /// assert_eq!(scope.count_of_type(node), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objects_of(&self, type_id: TypeId) -> Vec<Ref<'_>> {
        let mut objects = vec![];
        self.for_each_of(type_id, |object| objects.push(Ref::new(object)));
        objects
    }

    /// How many those are.
    pub fn count_of_type(&self, type_id: TypeId) -> u64 {
        let mut count = 0;
        self.for_each_of(type_id, |_| count += 1);
        count
    }

    fn for_each_of(&self, type_id: TypeId, mut visit: impl FnMut(ObjectRef)) {
        let wanted = type_id.id.info().id;
        self.leaf(|inner| {
            inner.reach(&mut |_| (), |_, object| {
                if object.type_info().id == wanted {
                    visit(object);
                }
                ControlFlow::Continue(())
            });
        });
    }
}
