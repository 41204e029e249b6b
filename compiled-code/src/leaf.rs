//! Where the code of the runtime's **leaves** is. The message about a stack overflow compares the fault, and words that may be
//! return addresses, with it.
//!
//! A leaf leaves no exit anchor, so nothing tells that compiled code is inside one. Its code is known by its first bytes, but not its
//! length in a program without a symbol table. So an address close to the start of a leaf counts as its code. Other code there is a
//! neighbour in the runtime's object file.
//!
//! The linker makes the list. Each leaf puts its place into the section `tally_leaves`, by a row that belongs to the section of the
//! leaf's code (`SHF_LINK_ORDER`): a leaf that a program does not call is dropped, and its row with it. A list in Rust would name all
//! leaves, and so keep weak maps, zeal and foreign stack maps in every program.

/// Puts the function that begins with it into the list. It is no instruction. Where the function is inlined, the copies are in the list, too.
macro_rules! leaf {
    ($name:ident) => {
        #[cfg(not(miri))]
        #[allow(named_asm_labels, reason = "each copy of the code defines a label of its own")]
        // SAFETY: no instruction, and a row in a section of its own.
        unsafe {
            ::std::arch::asm!(leaf_row!($name), options(nomem, nostack, preserves_flags));
        }
    };
}

/// The row, for leaves that are all assembly. A row's section names a label, and a label is defined once in an object file: so each copy takes
/// the first that is free. Those behind the fourth go without.
macro_rules! leaf_row {
    ($name:ident) => {
        concat!(
            leaf_row!(@ $name "_1"), ".else\n",
            leaf_row!(@ $name "_2"), ".else\n",
            leaf_row!(@ $name "_3"), ".else\n",
            leaf_row!(@ $name "_4"), ".endif\n.endif\n.endif\n.endif",
        )
    };
    (@ $name:ident $copy:literal) => {
        concat!(
            ".ifndef .Lleaf_", stringify!($name), $copy, "\n",
            ".Lleaf_", stringify!($name), $copy, ":\n",
            ".pushsection tally_leaves,\"ao\",@progbits,.Lleaf_", stringify!($name), $copy, "\n",
            ".p2align 2\n",
            ".long .Lleaf_", stringify!($name), $copy, " - .\n",
            ".popsection\n",
        )
    };
}

/// Whether an address is close to the start of a leaf of the runtime.
#[inline(never)]
pub(crate) fn is_close_to_one(address: u64) -> bool {
    // The list is never empty: the linker defines its ends only if there is one.
    leaf!(is_close_to_one);
    // Each library that has the runtime looks at its own list.
    #[cfg(not(miri))]
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!(
            ".hidden __start_tally_leaves",
            ".hidden __stop_tally_leaves",
            options(nomem, nostack, preserves_flags)
        );
    }
    places().any(|place| (place.wrapping_sub(IN_FRONT)..place + REACH).contains(&address))
}

/// Bytes of a leaf's code in front of its place: it saves registers first.
const IN_FRONT: u64 = 64;

/// Bytes of code behind a place. In a build with debug assertions all entry points are shorter, except
/// `tally_register_module`, which makes its calls in its first half.
const REACH: u64 = 512;

/// Nothing is allocated: a signal handler calls this.
#[cfg(not(miri))]
fn places() -> impl Iterator<Item = u64> {
    unsafe extern "C" {
        #[link_name = "__start_tally_leaves"]
        static START: i32;
        #[link_name = "__stop_tally_leaves"]
        static STOP: i32;
    }
    let (first, behind) = (&raw const START as u64, &raw const STOP as u64);
    (first..behind).step_by(size_of::<i32>()).map(|row| {
        // SAFETY: the linker put rows of this size there, and nothing else.
        let distance = unsafe { *(row as *const i32) };
        row.wrapping_add_signed(i64::from(distance))
    })
}

#[cfg(miri)]
fn places() -> impl Iterator<Item = u64> {
    std::iter::empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! list_leaves {
        ($($name:ident, $signature:literal, $kind:ident;)*) => {
            /// The leaves among the entry points that compiler and runtime share.
            fn leaves() -> Vec<(&'static str, u64)> {
                [$(list_leaves!(@ $kind $name)),*].into_iter().flatten().collect()
            }
        };
        (@ leaf $name:ident) => {{
            // Only its address is taken.
            unsafe extern "C" {
                fn $name();
            }
            Some((stringify!($name), $name as *const () as u64))
        }};
        (@ safepoint $name:ident) => { None };
    }
    crate::for_each_runtime_symbol!(list_leaves);

    #[test]
    #[cfg_attr(miri, ignore = "it looks at addresses of machine code")]
    fn every_leaf_is_in_the_list() {
        let starts_in_front =
            |&(_, leaf): &(&str, u64)| !places().any(|place| (leaf..leaf + IN_FRONT).contains(&place));
        let missing: Vec<_> = leaves().into_iter().filter(starts_in_front).map(|(name, _)| name).collect();
        assert!(missing.is_empty(), "without `leaf!`, or with more than {IN_FRONT} bytes in front of it: {missing:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "it looks at addresses of machine code")]
    fn address_inside_a_leaf_is_one_and_those_outside_are_none() {
        let leaf = crate::abi::tally_count_full as *const () as u64;
        assert!(is_close_to_one(leaf) && is_close_to_one(leaf + 1) && is_close_to_one(leaf + 40));
        let on_the_stack = &raw const leaf as u64;
        for other in [0, REACH, on_the_stack, libc::getpid as *const () as u64, u64::MAX - 1] {
            assert!(!is_close_to_one(other), "{other:#x}");
        }
    }
}
