//! Where weak slots are listed: by their targets, and by their holders.
//!
//! ```text
//!   record of the target ──► node ◄──► node ◄──► node        all that refer to it
//!                             │
//!             a weak reference of a built-in type, or a link
//!
//!   record of a holder   ──► link ◄──► link                  its slots; an only one has no need of a record
//! ```
//!
//! A **node** is in a doubly linked list of its target, so that it leaves in constant time. A weak reference of a built-in type is a
//! node itself: behind its slot its payload has the next one and the one before, and it costs nothing outside its cell. Any other
//! weak slot has a [`Link`], 32 bytes, whose number the table of records has for the slot's word
//! (`record_cell`); so it is found without a search, and an object that holds a million costs no more for each.

mod write;

use super::WeakKind;
use crate::memory::range::in_heap;
use crate::memory::record_slab::Record;
use crate::object::{ObjectRef, Slot, flag};
use crate::services::builtin;
use crate::services::special::{Specials, address_of, place_of};

/// Where a built-in weak reference keeps the next node of its list, and the one before.
const NEXT: u64 = 8;
const BEFORE: u64 = 16;

/// An entry of a target's list: 0, twice the place of a weak reference of a built-in type, or twice a link's number and one. It has
/// 40 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Node(u64);

impl Node {
    const NONE: Node = Node(0);

    /// The node that a link is; none for 0.
    pub(crate) fn of_link(number: u32) -> Node {
        if number == 0 { Node::NONE } else { Node((number as u64) << 1 | 1) }
    }

    fn of_weak(weak: ObjectRef) -> Node {
        Node(place_of(weak.address()) << 1)
    }

    pub(crate) fn of_bits(bits: u64) -> Node {
        Node(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The link's number; 0 for a weak reference.
    fn link(self) -> u32 {
        if self.0 & 1 != 0 { (self.0 >> 1) as u32 } else { 0 }
    }

    fn weak(self) -> ObjectRef {
        debug_assert!(self.is_some() && self.link() == 0);
        // SAFETY: [WEAK] a listed weak reference has its memory: it leaves the list before that goes.
        unsafe { ObjectRef::from_address(address_of(self.0 >> 1)) }
    }
}

/// A weak slot of an object that is no built-in weak reference.
///
/// ```text
/// next_and_slot     bits 0 to 39: the next node; 40 to 63: the lower bits of the slot
/// before_and_slot   bits 0 to 39: the node before; 40 to 63: its upper bits
/// slot              twice its place in the heap range, in words, and one for a key
/// ```
#[derive(Debug, Default)]
pub struct Link {
    next_and_slot: u64,
    before_and_slot: u64,
    /// The number of its target's record.
    pub(crate) target: u32,
    /// Words from the holder to the slot.
    offset: u32,
    next_of_holder: u32,
    before_of_holder: u32,
}

const _: () = assert!(std::mem::size_of::<Link>() == 32);

const NODE_BITS: u32 = 40;
const NODE_MASK: u64 = (1 << NODE_BITS) - 1;

impl Record for Link {
    fn link(&mut self) -> &mut u32 {
        &mut self.next_of_holder
    }
}

impl Link {
    fn new(holder: ObjectRef, slot: Slot, target: u32, kind: WeakKind) -> Link {
        let bits = place_of(slot.address()) << 1 | (kind == WeakKind::Key) as u64;
        let offset = (slot.address() - holder.address()) >> 3;
        Link {
            next_and_slot: bits << NODE_BITS,
            before_and_slot: bits >> (64 - NODE_BITS) << NODE_BITS,
            target,
            offset: u32::try_from(offset).expect("a weak slot lies in the first 32 GiB of its object"),
            ..Link::default()
        }
    }

    fn slot_bits(&self) -> u64 {
        self.next_and_slot >> NODE_BITS | self.before_and_slot >> NODE_BITS << (64 - NODE_BITS)
    }

    pub(crate) fn is_key(&self) -> bool {
        self.next_and_slot >> NODE_BITS & 1 != 0
    }

    fn kind(&self) -> WeakKind {
        if self.is_key() { WeakKind::Key } else { WeakKind::Reference }
    }

    fn slot_address(&self) -> u64 {
        address_of(self.slot_bits() >> 1)
    }

    fn slot(&self) -> Slot {
        // SAFETY: a registered slot is a word of its holder, which has its memory as long as it is registered.
        unsafe { Slot::from_address(self.slot_address()) }
    }

    /// The holder's address; 0 of a free place.
    pub(crate) fn holder_address(&self) -> u64 {
        self.slot_address() - 8 * u64::from(self.offset)
    }

    fn holder(&self) -> ObjectRef {
        // SAFETY: [WEAK] a link's holder has its memory as long as the link is one.
        unsafe { ObjectRef::from_address(self.holder_address()) }
    }

    /// Whether its holder needs no record for it: there is no other slot. Entries of weak maps have one all the same, with the number
    /// of their map. So do ephemerons and those that are told of what they lose: a mark that has found them dead comes to all that have one, and forgets their slots before it releases
    /// anything.
    pub(crate) fn may_be_lone(&self) -> bool {
        let holder = self.holder();
        let others = self.next_of_holder != 0 || self.before_of_holder != 0;
        !others
            && !self.is_key()
            && !holder.type_info().ephemeron
            && builtin::mode_of_entry(holder).is_none()
            && !builtin::is_told_when_cleared(holder)
    }

    fn next(&self) -> Node {
        Node(self.next_and_slot & NODE_MASK)
    }

    fn before(&self) -> Node {
        Node(self.before_and_slot & NODE_MASK)
    }

    fn set_next(&mut self, node: Node) {
        self.next_and_slot = self.next_and_slot & !NODE_MASK | node.0;
    }

    fn set_before(&mut self, node: Node) {
        self.before_and_slot = self.before_and_slot & !NODE_MASK | node.0;
    }
}

/// Whether the object is a built-in weak reference that is on its target's list.
pub(crate) fn is_linked(object: ObjectRef) -> bool {
    builtin::is_weak(object) && object.has(flag::SPECIAL) && in_heap(object.slot(0).read())
}

impl Specials {
    pub(crate) fn next_of(&self, node: Node) -> Node {
        match node.link() {
            0 => Node(node.weak().slot(NEXT).read()),
            link => self.links[link].next(),
        }
    }

    fn before(&self, node: Node) -> Node {
        match node.link() {
            0 => Node(node.weak().slot(BEFORE).read()),
            link => self.links[link].before(),
        }
    }

    fn set_next(&mut self, node: Node, next: Node) {
        match node.link() {
            0 => node.weak().slot(NEXT).store(next.0),
            link => self.links[link].set_next(next),
        }
    }

    fn set_before(&mut self, node: Node, before: Node) {
        match node.link() {
            0 => node.weak().slot(BEFORE).store(before.0),
            link => self.links[link].set_before(before),
        }
    }

    fn head(&self, target: u32, kind: WeakKind) -> Node {
        match kind {
            WeakKind::Reference => self.records[target].referrers(),
            WeakKind::Key => Node::of_link(self.records[target].keys()),
        }
    }

    fn set_head(&mut self, target: u32, kind: WeakKind, node: Node) {
        match kind {
            WeakKind::Reference => self.records[target].set_referrers(node),
            WeakKind::Key => {
                self.any_keys = true;
                self.records[target].set_keys(node.link());
            }
        }
    }

    fn enter(&mut self, target: u32, kind: WeakKind, node: Node) {
        let first = self.head(target, kind);
        self.set_next(node, first);
        self.set_before(node, Node::NONE);
        if first.is_some() {
            self.set_before(first, node);
        }
        self.set_head(target, kind, node);
    }

    fn leave(&mut self, target: u32, kind: WeakKind, node: Node) {
        let (next, before) = (self.next_of(node), self.before(node));
        match before.is_some() {
            true => self.set_next(before, next),
            false => self.set_head(target, kind, next),
        }
        if next.is_some() {
            self.set_before(next, before);
        }
        if kind == WeakKind::Key {
            self.pass_over_in_mark(target, node, next);
        }
    }

    fn enter_holder(&mut self, holder: u32, link: u32) {
        let first = std::mem::replace(&mut self.records[holder].slots, link);
        self.links[link].next_of_holder = first;
        if first != 0 {
            self.links[first].before_of_holder = link;
        }
    }

    /// The nodes from one on.
    pub(crate) fn list_from(&self, first: Node) -> impl Iterator<Item = Node> + '_ {
        let listed = |node: Node| node.is_some().then_some(node);
        std::iter::successors(listed(first), move |&node| listed(self.next_of(node)))
    }

    /// The links of a holder, from one on.
    pub(crate) fn slots_from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let listed = |link: u32| (link != 0).then_some(link);
        std::iter::successors(listed(first), move |&link| listed(self.links[link].next_of_holder))
    }

    /// The object that a node's slot lies in.
    pub(crate) fn holder_of(&self, node: Node) -> ObjectRef {
        match node.link() {
            0 => node.weak(),
            link => self.links[link].holder(),
        }
    }
}
