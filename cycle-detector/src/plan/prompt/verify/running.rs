//! The recount of a prompt heap while compiled code runs: counts are bounded by what frames may hold. `[EXACT]`

use super::{check_garbage, name, recount};
use crate::plan::prompt::PromptDriver;
use crate::recount::wrong;
use crate::root_source::RootList;
use tally_heap::Heap;
use tally_heap::report::violation::Violation;

impl PromptDriver {
    /// Recounts a heap while compiled code runs, with `in_flight` references in registers at most.
    pub(in crate::plan::prompt) fn verify_running(&mut self, heap: &mut Heap, in_flight: u64) -> Result<(), Violation> {
        let mut recount = recount(heap)?;
        let steps_before = self.stack.unwinder_steps();
        let mut roots = RootList::of_seen_objects();
        self.stack.visit(heap, &mut roots);
        if let (Some((root, root_name)), Some(zeal)) = (roots.unseen(), &heap.zeal) {
            return Err(wrong("ROOT", format!("{root_name} holds {}", heap.place(zeal, root.address()))));
        }
        for root in roots.into_objects().iter().copied() {
            *recount.from_roots.entry(root).or_default() += 1;
        }
        let native_frames = self.stack.unwinder_steps() - steps_before;
        let may_have_caught =
            self.left_behind.native_code_may_have_caught(native_frames, heap.services.finalizers.depth());
        let landed = std::mem::take(&mut heap.prompt.landed) || may_have_caught;
        self.left_behind.recounted(landed, recount.unaccounted());
        for object in self.left_behind.objects() {
            recount.from_roots.entry(object).or_default();
        }
        check_garbage(heap, &recount)?;
        for &object in &recount.objects {
            let (count, held) = (u64::from(object.exact_count()), recount.heap(object));
            if object.is_stuck() {
                continue;
            }
            if count < held {
                let what = format!("{} has count {count}, and {held} references in objects lead to it", name(object));
                return Err(wrong("EXACT", what));
            }
            let roots = recount.roots(object) + in_flight;
            let left_behind = self.left_behind.of(object);
            if count - held > roots + left_behind {
                let jumped = if left_behind == 0 {
                    String::new()
                } else {
                    format!(", and {left_behind} counts of frames that longjmp has left")
                };
                let what = format!(
                    "{} has count {count}: {held} references in objects, and at most {roots} roots{jumped}",
                    name(object)
                );
                return Err(wrong("EXACT", what));
            }
        }
        Ok(())
    }
}
