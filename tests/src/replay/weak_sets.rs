//! Weak sets, op by op: a member has its hash in its first word, which may be a reference, or data that an op writes.
//!
//! A member whose hash has changed need not be found, and is let go of all the same. What is found is a member, and whole.

use super::Replay;
use super::services::Expected;
use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::{Id, ModelMember};
use crate::op::Register;
use crate::shape::Kind;

impl<H: HeapUnderTest> Replay<'_, H> {
    pub(super) fn new_set(&mut self, into: Register) -> Result<(), String> {
        let set = self.heap.new_set();
        if let Some(address) = self.after_allocation(set, Kind::WeakSet, 0)? {
            let id = self.enter(Kind::WeakSet, 0, address);
            self.model.sets.insert(id, Default::default());
            self.control.note_births(None);
            self.set_root(usize::from(into), Some(id));
        }
        Ok(())
    }

    pub(super) fn set_add(&mut self, set: Register, member: Register) -> Result<(), String> {
        let (Some(set), Some(member)) = (self.set(set), self.register(member)) else { return Ok(()) };
        let kind = self.model.object(member).kind;
        if Kind::BUILTIN.contains(&kind) {
            return Ok(());
        }
        let [set_at, member_at] = [set, member].map(|id| self.addresses[id as usize]);
        let others = self.model.sets.iter().filter(|(other, _)| **other != set);
        let in_other = others.filter_map(|(other, members)| Some((*other, members.get(&member)?.sure))).next();
        if !self.heap.set_takes(set_at, member_at) {
            let has_a_hash = !self.model.object(member).words.is_empty();
            let member = self.describe(member);
            return if has_a_hash && in_other.is_none() { Err(format!("{member} is refused")) } else { Ok(()) };
        }
        // A set that nothing reaches may have gone.
        if let Some((other, true)) = in_other
            && self.model.reachable()[other as usize]
        {
            return Err(format!(
                "{} is in {}, and can be added to another set",
                self.describe(member),
                self.describe(other)
            ));
        }
        self.control.note_births(None);
        let done = self.heap.set_add(set_at, member_at);
        if self.after_allocation(done.map(|()| set_at), Kind::WeakSet, 0)?.is_some() {
            let hash = Some(self.heap.load(member_at, 0) as u32).filter(|_| kind.has_data_first());
            self.model
                .sets
                .iter_mut()
                .filter(|(other, _)| **other != set)
                .for_each(|(_, members)| _ = members.remove(&member));
            let members = self.model.sets.get_mut(&set).expect("a register holds it");
            let entry = members.entry(member).or_insert(ModelMember { hash, sure: true });
            entry.sure = true;
        }
        Ok(())
    }

    pub(super) fn set_find(&mut self, into: Register, set: Register, like: Register) -> Result<(), String> {
        let (Some(set), Some(like)) = (self.set(set), self.register(like)) else { return Ok(()) };
        if self.model.object(like).words.is_empty() {
            return Ok(());
        }
        let hash = self.heap.load(self.addresses[like as usize], 0) as u32;
        let found = self.heap.set_probe(self.addresses[set as usize], hash);
        let mut last = None;
        for address in &found {
            let id = self.newest_at.get(address).copied().filter(|id| self.model.sets[&set].contains_key(id));
            let expected = Expected { value: id, surely: false };
            last = self
                .check_answer(Some(*address), expected)
                .map_err(|what| format!("{} yields {what}", self.describe(set)))?;
        }
        let wanted = self.model.sets[&set].get(&like).filter(|member| member.sure && member.hash == Some(hash));
        if wanted.is_some() && !found.contains(&self.addresses[like as usize]) {
            return Err(format!("{} does not find {}, which is a member", self.describe(set), self.describe(like)));
        }
        self.set_root(usize::from(into), last);
        Ok(())
    }

    pub(super) fn set_remove(&mut self, set: Register, member: Register) -> Result<(), String> {
        let (Some(set), Some(member)) = (self.set(set), self.register(member)) else { return Ok(()) };
        let said = self.heap.set_remove(self.addresses[set as usize], self.addresses[member as usize]);
        let known = self.model.sets.get_mut(&set).expect("a register holds it").remove(&member);
        if said && known.is_none() || !said && known.is_some_and(|member| member.sure) {
            return Err(format!("taking {} out of {} says {said}", self.describe(member), self.describe(set)));
        }
        Ok(())
    }

    /// After an epoch or a collection: how many members the set says that it has.
    pub(super) fn compare_set(&mut self, set: Id, reachable: &[bool], collected: bool) -> Result<(), String> {
        let count = self.heap.set_count(self.addresses[set as usize]);
        let members = &self.model.sets[&set];
        let reached = members.iter().filter(|(id, _)| reachable[**id as usize]);
        let (least, most) = (
            reached.clone().filter(|(_, member)| member.sure).count(),
            match collected {
                true => reached.count(),
                false => members.len(),
            },
        );
        match (least as u64..=most as u64).contains(&count) {
            true => Ok(()),
            false => Err(format!("it says that it has {count} members, and has {least} to {most}")),
        }
    }

    fn set(&self, register: Register) -> Option<Id> {
        self.register(register).filter(|id| self.model.sets.contains_key(id))
    }
}
