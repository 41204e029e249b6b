//! The names of a root: its id in stack maps, and the texts beside the id in the module's record.

use stack_roots::STATE_ID;
use tally_compiled::module::record::{ADDRESS_TAKEN_ROOT, METADATA_ROOT};

/// The name of one root, for the record and the lowering's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRoot {
    /// As in the stack maps.
    pub id: u64,
    /// The variable.
    pub name: String,
    /// The function it belongs to.
    pub function: String,
    /// Name of the descriptor's global; none for a plain reference.
    pub descriptor: Option<String>,
}

/// The id of a root: a hash (FNV-1a) of where it comes from, so that it is the same in every build of the program.
pub(super) fn root_id(module: &str, function: &str, name: &str, number: usize) -> u64 {
    let text = format!("{module}\0{function}\0{name}\0{number}");
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // The bits are set for roots that are lent, or whose metadata is no descriptor. With them or without them the id is none of those that mean something else.
    (hash & !(ADDRESS_TAKEN_ROOT | METADATA_ROOT)).clamp(4, STATE_ID - 7)
}

#[cfg(test)]
mod tests {
    use super::root_id;
    use tally_compiled::module::record::{ADDRESS_TAKEN_ROOT, METADATA_ROOT};

    #[test]
    fn ids_tell_roots_apart_and_are_never_zero() {
        let ids = [
            root_id("m", "f", "a", 0),
            root_id("m", "f", "a", 1),
            root_id("m", "f", "b", 0),
            root_id("m", "g", "a", 0),
            root_id("n", "f", "a", 0),
            root_id("m", "fa", "", 0),
        ];
        for (index, id) in ids.iter().enumerate() {
            assert!(*id != 0 && *id & (ADDRESS_TAKEN_ROOT | METADATA_ROOT) == 0);
            assert!(!ids[..index].contains(id));
        }
        assert_eq!(ids[0], root_id("m", "f", "a", 0));
    }
}
