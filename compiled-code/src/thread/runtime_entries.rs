//! The code addresses of the runtime's leaves. The message about a stack overflow compares the fault, and words that
//! may be return addresses, with them.
//!
//! A leaf leaves no exit anchor, so nothing tells that compiled code is inside one. The addresses of the entry points
//! are known (`crate::symbols`), but not the length of their code in a program without a symbol table. So an address
//! just behind the start of an entry point counts as its code. Other code there is a neighbour in the runtime's
//! object file.

/// Whether an address lies at most [`REACH`] bytes behind the start of a leaf of the runtime.
pub(crate) fn is_just_behind_one(address: u64) -> bool {
    starts().iter().any(|&start| address.checked_sub(start).is_some_and(|distance| distance < REACH))
}

/// Bytes of code behind a start. In a build with debug assertions all entry points are shorter, except
/// `tally_register_module`, which makes its calls in its first half.
const REACH: u64 = 512;

macro_rules! list_starts {
    ($($name:ident, $signature:literal, $kind:ident;)*) => {
        /// Nothing is allocated: a signal handler calls this.
        fn starts() -> [u64; STARTS] {
            [$(list_starts!(@ $kind $name)),*]
        }

        const STARTS: usize = [$(stringify!($name)),*].len();
    };
    (@ leaf $name:ident) => {{
        // Only its address is taken; its type is the compiler's matter. As a function, because this crate defines
        // some of them: a static of the name of a function in the same object file is another symbol, which nothing
        // defines.
        unsafe extern "C" {
            fn $name();
        }
        $name as *const () as u64
    }};
    // A safepoint's exit anchor shows that it was called. It is not named here, so that programs are not linked with
    // symbols that they do not call.
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
