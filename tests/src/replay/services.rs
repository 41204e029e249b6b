//! The services of a heap, op by op: objects with finalizers, weak references, ephemerons, weak maps.
//!
//! The rule for upgrades, here and in `weak_state.rs`: an object that the model reaches is always yielded, one that
//! is gone never. Garbage that has not been found yet may be yielded, whole and with all its references; then it is
//! reachable again if the program keeps it.

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::{Id, ModelMap, Word};
use crate::op::{Deed, Place, Register, Service};
use crate::shape::{DEED, Kind};
use tally_heap::services::weak_map::WeakMode;

/// The value that a weak map may have for a key.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) value: Option<Id>,
    /// It must be there.
    pub(super) surely: bool,
}

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Performs one op of a service.
    pub(super) fn service(&mut self, service: Service) -> Result<(), String> {
        match service {
            Service::Finalizable { kind, deed, into } => self.finalizable(kind, deed, into)?,
            Service::Register { object } => self.register_finalizer(object)?,
            Service::Forget { object } => {
                if let Some(id) = self.register(object) {
                    self.heap.forget_finalizer(self.addresses[id as usize]);
                    self.model.registered.remove(&id);
                }
            }
            Service::Weak { into, target, called } => self.new_weak(into, target, called)?,
            Service::WeakWrite { place, target } => self.write_weak(place, target)?,
            Service::Upgrade { into, place } => self.upgrade(into, place)?,
            Service::Ephemeron { into, key, value } => self.ephemeron(into, key, value)?,
            Service::Map { mode, into } => {
                let map = self.heap.new_map(mode);
                if let Some(address) = self.after_allocation(map, Kind::WeakMap, 0)? {
                    let id = self.enter(Kind::WeakMap, 0, address);
                    self.model.maps.insert(id, ModelMap::new(mode));
                    self.control.note_births(None);
                    self.set_root(usize::from(into), Some(id));
                }
            }
            Service::MapSet { map, key, value } => self.map_set(map, key, value)?,
            Service::MapGet { into, map, key } => self.map_get(into, map, key)?,
            Service::MapRemove { map, key } => self.map_remove(map, key)?,
            Service::Set { into } => self.new_set(into)?,
            Service::SetAdd { set, member } => self.set_add(set, member)?,
            Service::SetFind { into, set, like } => self.set_find(into, set, like)?,
            Service::SetRemove { set, member } => self.set_remove(set, member)?,
            Service::OpenScope => self.open_scope(),
            Service::Handle { object } => self.push_handle(object),
            Service::PeekHandle { index, into } => self.peek_handle(index, into),
            Service::CloseScope => self.close_scope(),
            Service::AbandonScope => self.abandon_scope(),
            Service::Raise { object, count } => self.raise(object, count)?,
            Service::GlobalHandle { handle, object } => self.set_global_handle(handle, object),
            Service::FreeHandle { handle } => self.free_global_handle(usize::from(handle)),
            Service::Open { number, object } => self.open(usize::from(number), object),
            Service::OpenWrite { place, value } => self.open_write(place, value)?,
            Service::Stop => self.stop(),
            Service::Restart => self.restart(),
            Service::Limit { kib } => self.limit(kib),
            Service::Fail { number } => self.fail(number),
            Service::Part => self.part()?,
        }
        Ok(())
    }

    fn finalizable(&mut self, kind: Kind, deed: Deed, into: Register) -> Result<(), String> {
        if let Some(id) = self.build(kind, 0, into)? {
            self.model.store(id, DEED, Word::Raw(deed.encode()));
            self.heap.store_data(self.addresses[id as usize], DEED, deed.encode());
        }
        Ok(())
    }

    fn register_finalizer(&mut self, object: Register) -> Result<(), String> {
        let Some(id) = self.register(object) else { return Ok(()) };
        let expected = self.model.object(id).kind.shape().finalizer.is_some();
        let said = self.heap.register_finalizer(self.addresses[id as usize]);
        if said != expected {
            return Err(format!("registering {} says {said}", self.describe(id)));
        }
        if expected {
            self.model.registered.insert(id);
        }
        Ok(())
    }

    fn new_weak(&mut self, into: Register, target: Register, called: bool) -> Result<(), String> {
        let Some(target) = self.register(target) else { return Ok(()) };
        let kind = if called { Kind::WeakCalled } else { Kind::Weak };
        let weak = self.heap.new_weak(self.addresses[target as usize], called);
        if let Some(address) = self.after_allocation(weak, kind, 0)? {
            let id = self.enter(kind, 0, address);
            self.model.store(id, 0, Word::Weak { target, sure: true });
            self.set_root(usize::from(into), Some(id));
        }
        Ok(())
    }

    fn ephemeron(&mut self, into: Register, key: Register, value: Option<Register>) -> Result<(), String> {
        let Some(key) = self.register(key) else { return Ok(()) };
        let value = value.and_then(|value| self.register(value));
        let (key_at, value_at) = (self.addresses[key as usize], value.map(|value| self.addresses[value as usize]));
        let ephemeron = self.heap.new_ephemeron(key_at, value_at);
        if let Some(address) = self.after_allocation(ephemeron, Kind::Ephemeron, 0)? {
            let id = self.enter(Kind::Ephemeron, 0, address);
            self.model.store(id, 8, Word::Weak { target: key, sure: true });
            self.model.store(id, 0, value.map_or(Word::Raw(0), Word::Reference));
            self.set_root(usize::from(into), Some(id));
        }
        Ok(())
    }

    fn write_weak(&mut self, place: Place, target: Option<Register>) -> Result<(), String> {
        let Some(id) = self.register(place.object) else { return Ok(()) };
        let kind = self.model.object(id).kind;
        let Some(offset) = kind.weak_offset(place.slot) else { return Ok(()) };
        // A new key for an ephemeron that is about to lose its values would come too late.
        if !self.may_use(id)? {
            return Ok(());
        }
        self.notice_clearing(id, offset)?;
        let target = target.and_then(|target| self.register(target));
        let word = target.map_or(Word::Raw(0), |target| Word::Weak { target, sure: true });
        self.model.store(id, offset, word);
        let target = target.map(|target| self.addresses[target as usize]);
        self.heap.write_weak(self.addresses[id as usize], offset, target, kind.shape().ephemeron);
        Ok(())
    }

    /// Clears in the model what the heap has cleared: it may owe a callback for that, whatever is written now.
    fn notice_clearing(&mut self, id: Id, offset: u64) -> Result<(), String> {
        if let Some(&(_, target, sure)) = self.model.weak_slots(id).iter().find(|slot| slot.0 == offset)
            && self.heap.load(self.addresses[id as usize], offset) == 0
        {
            let lives = self.model.reachable()[target as usize];
            return self.compare_weak_slot(id, offset, (target, sure), lives, false);
        }
        Ok(())
    }

    /// Whether an ephemeron's slots may be used: it has no key, or one that can be had. Other objects' may.
    pub(super) fn may_use(&mut self, id: Id) -> Result<bool, String> {
        match self.model.key_of(id) {
            None => Ok(true),
            Some(_) => {
                let offset = u64::from(self.model.object(id).kind.shape().weak[0]);
                self.read_weak(id, offset).map(|key| key.is_some())
            }
        }
    }

    fn upgrade(&mut self, into: Register, place: Place) -> Result<(), String> {
        let Some(id) = self.register(place.object) else { return Ok(()) };
        let Some(offset) = self.model.object(id).kind.weak_offset(place.slot) else { return Ok(()) };
        let target = self.read_weak(id, offset)?;
        self.set_root(usize::from(into), target);
        Ok(())
    }

    /// Upgrades a weak slot, and checks the result.
    pub(super) fn read_weak(&mut self, id: Id, offset: u64) -> Result<Option<Id>, String> {
        let address = self.addresses[id as usize];
        let answer = self.heap.read_weak(address, offset);
        let expected = match self.model.load(id, offset) {
            Word::Weak { target, sure } => {
                let surely = sure && answer.is_none() && self.model.reachable()[target as usize];
                Expected { value: Some(target), surely }
            }
            _ => Expected { value: None, surely: false },
        };
        let found = self
            .check_answer(answer, expected)
            .map_err(|what| format!("the weak slot of {} at offset {offset} yields {what}", self.describe(id)))?;
        if found.is_none() && expected.value.is_some() && self.heap.load(address, offset) == 0 {
            self.model.clear_weak(id, offset);
        }
        Ok(found)
    }

    pub(super) fn check_answer(&mut self, answer: Option<u64>, expected: Expected) -> Result<Option<Id>, String> {
        match (answer, expected.value) {
            (None, Some(id)) if expected.surely => Err(format!("nothing, and {} is reachable", self.describe(id))),
            (None, None) => Ok(None),
            (None, Some(_)) => {
                self.summary.refused += 1;
                Ok(None)
            }
            (Some(address), Some(id)) if address == self.addresses[id as usize] => {
                if self.model.object(id).kind.shape().ephemeron {
                    // Its key may have gone before.
                    let offset = u64::from(self.model.object(id).kind.shape().weak[0]);
                    self.notice_clearing(id, offset)?;
                }
                self.compare_object(id).map_err(|what| format!("{}, but {what}", self.describe(id)))?;
                self.summary.upgraded += 1;
                // The object is alive again, with all its references.
                self.epochs_as_garbage.clear();
                self.control.note_resurrection();
                Ok(Some(id))
            }
            (Some(address), _) => Err(format!("{address:#x}, which is gone or was never there")),
        }
    }

    fn map(&self, register: Register) -> Option<Id> {
        self.register(register).filter(|id| self.model.maps.contains_key(id))
    }

    fn expected(&self, map: Id, key: Id) -> Expected {
        let map = &self.model.maps[&map];
        let Some(entry) = map.entries.get(&key) else { return Expected { value: None, surely: false } };
        let lives = map.mode == WeakMode::Keys || self.model.reachable()[entry.value as usize];
        Expected { value: Some(entry.value), surely: entry.sure && lives }
    }

    fn map_set(&mut self, map: Register, key: Register, value: Register) -> Result<(), String> {
        let (Some(map), Some(key), Some(value)) = (self.map(map), self.register(key), self.register(value)) else {
            return Ok(());
        };
        let [map_at, key_at, value_at] = [map, key, value].map(|id| self.addresses[id as usize]);
        self.control.note_births(None);
        let done = self.heap.map_set(map_at, key_at, value_at);
        if self.after_allocation(done.map(|()| map_at), Kind::WeakMap, 0)?.is_some() {
            self.model.maps.get_mut(&map).expect("a register holds it").set(key, value);
        }
        Ok(())
    }

    fn map_get(&mut self, into: Register, map: Register, key: Register) -> Result<(), String> {
        let (Some(map), Some(key)) = (self.map(map), self.register(key)) else { return Ok(()) };
        let expected = self.expected(map, key);
        let answer = self.heap.map_get(self.addresses[map as usize], self.addresses[key as usize]);
        let found = self
            .check_answer(answer, expected)
            .map_err(|what| format!("{} has for {} {what}", self.describe(map), self.describe(key)))?;
        self.set_root(usize::from(into), found);
        Ok(())
    }

    fn map_remove(&mut self, map: Register, key: Register) -> Result<(), String> {
        let (Some(map), Some(key)) = (self.map(map), self.register(key)) else { return Ok(()) };
        let expected = self.expected(map, key);
        let said = self.heap.map_remove(self.addresses[map as usize], self.addresses[key as usize]);
        if said && expected.value.is_none() || !said && expected.surely {
            let (map, key) = (self.describe(map), self.describe(key));
            return Err(format!("taking {key} out of {map} says {said}"));
        }
        self.model.maps.get_mut(&map).expect("a register holds it").entries.remove(&key);
        Ok(())
    }
}
