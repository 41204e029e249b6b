//! Does this address belong to a leaf of the runtime? Asked by the message about a stack overflow, of faults and of what may be
//! return addresses.
//!
//! A leaf leaves no exit anchor, so nothing says that compiled code is inside one. What is known are the addresses of
//! the entry points (`crate::symbols`); how long their code is nobody knows in a program without its symbol table.
//! So an address is taken for one of an entry point's if it lies just behind its start. What else lies there is a
//! neighbour in the runtime's object file.

/// Whether an address lies at most [`REACH`] bytes behind the start of a leaf of the runtime.
pub(crate) fn is_just_behind_one(address: u64) -> bool {
    starts().iter().any(|&start| address.checked_sub(start).is_some_and(|distance| distance < REACH))
}

/// In a build with debug assertions all but `tally_register_module`, which calls what it does in its first half, are shorter.
const REACH: u64 = 512;

macro_rules! list_starts {
    ($($name:ident, $signature:literal, $kind:ident;)*) => {
        /// Nothing is allocated: a signal handler asks.
        fn starts() -> [u64; STARTS] {
            [$(list_starts!(@ $kind $name)),*]
        }

        const STARTS: usize = [$(stringify!($name)),*].len();
    };
    (@ leaf $name:ident) => {{
        // Only its address is taken; its type is the compiler's matter. As a function, because this crate defines some of them: a
        // static of the name of a function in the same object file is another symbol, which nothing defines.
        unsafe extern "C" {
            fn $name();
        }
        $name as *const () as u64
    }};
    // Says by its exit anchor that it was called. Not named here, so that programs are not linked with what they do not call.
    (@ safepoint $name:ident) => { u64::MAX };
}
crate::for_each_runtime_symbol!(list_starts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it looks at addresses of machine code")]
    fn address_inside_a_leaf_is_one_and_those_outside_are_none() {
        let leaf = crate::abi::tally_count_full as *const () as u64;
        assert!(is_just_behind_one(leaf) && is_just_behind_one(leaf + 1) && is_just_behind_one(leaf + 40));
        let on_the_stack = &raw const leaf as u64;
        for other in [0, REACH, on_the_stack, starts as *const () as u64, u64::MAX - 1] {
            assert!(!is_just_behind_one(other), "{other:#x}");
        }
    }
}
