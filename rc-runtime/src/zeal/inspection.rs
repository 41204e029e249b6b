//! Zeal's look over the heap: does each object still have its header, did nothing write past its end (`guard`), and is each
//! reference an object's address? `[HEADER]`
//!
//! Called first thing at a safepoint of a zeal heap at which a look is due (`pace`), while everything is still as the program left it: counting would follow
//! such a word, take what lies there for a header, and stop far from the cause or not at all. What was registered at birth is
//! believed, the heap's own words are not.
//!
//! References to objects that have died are not reported here: the use of one is, with its line ([`Heap::check_access`]).

use super::{Birth, Zeal};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::plan::Plan;
use crate::type_registry::TypeInfo;
use crate::visit::Part;

impl Heap {
    /// A safepoint of a zeal heap begins: stops the program if a header or a reference is not what it was made, where a look at
    /// all of them is due.
    #[inline(always)]
    pub fn inspect(&mut self) {
        if self.zeal.is_some() {
            self.inspect_if_due();
        }
    }

    #[cold]
    fn inspect_if_due(&mut self) {
        let looks = self.options.zeal_looks;
        if self.zeal.as_mut().is_some_and(|zeal| zeal.begin_epoch(looks)) {
            self.inspect_all();
        }
    }

    /// The same at once, whether it is due or not.
    #[cold]
    pub fn inspect_all(&self) {
        let Some(zeal) = &self.zeal else { return };
        if let Some(what) = zeal.fault(self.plan()).or_else(|| self.reference_fault(zeal)) {
            self.violation("HEADER", &what);
        }
    }

    /// Stops: an invariant does not hold. In zeal the message says at which safepoint that was noticed.
    #[cold]
    pub fn violation(&self, invariant: &str, what: &str) -> ! {
        let noticed = self.zeal.as_ref().map_or(String::new(), |zeal| zeal.noticed());
        crate::fatal::violation(invariant, self.clock.epoch, &format!("{what}{noticed}"))
    }

    /// The first reference of an object that leads to where no object was ever made. Headers are right.
    fn reference_fault(&self, zeal: &Zeal) -> Option<String> {
        zeal.births(self.plan()).find_map(|(address, birth)| {
            // SAFETY: [HEADER] a registered object that has not died.
            let object = unsafe { ObjectRef::from_address(address) };
            let mut fault = None;
            // SAFETY: [HEADER] a registered type's.
            unsafe { TypeInfo::of_meta(birth.type_meta) }.for_each_reference(object, Part::Whole, |target| {
                if fault.is_none() && !zeal.has_seen(target) {
                    let place = self.place(zeal, target.address());
                    fault = Some(format!("{} refers to {place}{}", name(address, birth), zeal.history(birth)));
                }
            });
            fault
        })
    }

    /// An address of the heap range that is no object's, in words.
    pub fn place(&self, zeal: &Zeal, address: u64) -> String {
        if !range::is_reserved(address) {
            return format!("{address:#x}, where no object is, and no memory");
        }
        // SAFETY: the entry of an address in the reserved part of the range.
        let owner = unsafe { range::owner_of(range::block_of(address)) };
        // SAFETY: [MAPPED] an address in the reserved range.
        if owner != 0 && !unsafe { self.owns_address(address) } {
            return Heap::foreign(address);
        }
        match zeal.objects.range(..=address).next_back() {
            Some((&start, &birth)) if address < birth.end => format!(
                "{address:#x}, which is byte {} of {}: only an object's own address is a reference, and pointers into it are kept \
                 beside the root of the object, in no root, field or global",
                address - start,
                name(start, birth)
            ),
            Some((&start, &birth)) if address == birth.end => {
                format!("{address:#x}, which is just past the end of {}", name(start, birth))
            }
            _ => format!("{address:#x}, where no object is"),
        }
    }
}

impl Zeal {
    /// Those that have not died, in address order. Nor are dying: a finalizer of what such an object held may run while
    /// its own payload, its length included, holds the references still to be released (`prompt::reclaim`).
    pub(super) fn births(&self, plan: Plan) -> impl Iterator<Item = (u64, Birth)> {
        let births = self.living.iter().map(|&address| (address, self.objects[&address]));
        births.filter(move |&(address, birth)| {
            // SAFETY: [HEADER] the words of a registered object are there.
            let meta = unsafe { ObjectRef::from_address(address) }.meta();
            !plan.is_taken_apart(meta) || meta & !flag::ALL != birth.type_meta
        })
    }

    /// The first object that was written over, or past.
    fn fault(&self, plan: Plan) -> Option<String> {
        self.header_fault(plan).or_else(|| self.overflow(plan))
    }

    /// The first object whose header, or length, is not as it was made.
    fn header_fault(&self, plan: Plan) -> Option<String> {
        self.births(plan).find_map(|(address, birth)| {
            // SAFETY: [HEADER] the words of a registered object are there.
            let object = unsafe { ObjectRef::from_address(address) };
            // SAFETY: [HEADER] a registered type's.
            let info = unsafe { TypeInfo::of_meta(birth.type_meta) };
            let length = info.length(object);
            let (what, likely) = if object.meta() & !flag::ALL != birth.type_meta {
                let found = object.meta();
                let what = format!("the header of {} was overwritten: where its type stood is {found:#x}", name(address, birth));
                (what, "a loop or copy has gone on past the end of the object before it; look at its bounds")
            } else if info.cell_bytes(length).is_none_or(|cell| address + cell - HEADER_BYTES != birth.end) {
                let what = format!("the length of {} was overwritten; it is {length} now", name(address, birth));
                (what, "the program stores to the length, which is the runtime's; allocate an array of the length that is wanted")
            } else {
                return None;
            };
            let before = self.objects.range(..address).next_back();
            let suspect = before.map_or(String::new(), |(&start, &other)| {
                let gap = address - other.end;
                let made = self.places.get(other.made).map(|place| format!(" It was made {place}."));
                format!(
                    "; {} lies before it and ends {gap} bytes before it: was that written beyond its end?{}",
                    name(start, other),
                    made.unwrap_or_default()
                )
            });
            Some(format!("{what}{suspect}{}\n    likely: {likely}", self.history(birth)))
        })
    }
}

pub(super) fn name(address: u64, birth: Birth) -> String {
    // SAFETY: [HEADER] a registered type's.
    let info = unsafe { TypeInfo::of_meta(birth.type_meta) };
    format!("the `{}` at {address:#x} ({} bytes)", info.name, birth.end - address)
}
