//! The fixed addresses of heap and side tables, by processor. The runtime has those of its own; the lowering writes into
//! code those of the processor that the code is for.
//!
//! An x86-64 process has addresses of 47 bits at least, and the tables lie far apart. AArch64 kernels give 39 bits (4 KiB
//! pages and three levels of tables: many phones and boards), 42, 47, 48 or 52. One layout must do for all of them, since code does
//! not know where it will run. So it fits into 39 bits, between a program without position independence, which lies at
//! the lowest addresses, and one with it, which lies two thirds up:
//!
//! ```text
//! 0x00_0040_0000   a program that was linked for a fixed address, and its brk heap
//! 0x10_0000_0000   numbers of records         64 GiB
//! 0x20_0000_0000   objects                   128 GiB
//! 0x40_0000_0000   the other side tables      23 GiB
//! 0x55_5555_5000   a position independent program, libraries, stacks
//! 0x7f_ffff_ffff   the end
//! ```
//!
//! RISC-V kernels give 38 bits (Sv39, whose other half is the kernel's), 47 or 56. The layout there is that of AArch64 with all distances
//! halved, and the heap with them:
//!
//! ```text
//! 0x08_0000_0000   numbers of records         32 GiB
//! 0x10_0000_0000   objects                    64 GiB
//! 0x20_0000_0000   the other side tables      12 GiB
//! 0x2a_aaaa_a000   a position independent program, libraries, stacks
//! 0x3f_ffff_ffff   the end
//! ```
//!
//! The heap's span is a power of two and its base a multiple of it, so that a shift and a comparison tell an object.

/// Bits of a type id.
const TYPE_ID_BITS: u32 = super::range::TYPE_ID_BITS;

/// Fixed addresses. The tables behind a heap of fewer bytes than `heap_span` are shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Lowest address of the heap range.
    pub heap_base: u64,
    /// Bytes of address space in which a word counts as a reference to an object.
    pub heap_span: u64,
    /// Base of the unlogged bits.
    pub unlogged: u64,
    /// Base of the count bytes.
    pub counts: u64,
    /// Base of the cells' bits.
    pub live: u64,
    /// Base of the trials' bytes.
    pub trial: u64,
    /// Base of the marks' bits.
    pub mark: u64,
    /// Base of the candidates' bits.
    pub buffered: u64,
    /// Base of the blocks' entries.
    pub block_info: u64,
    /// Base of the types.
    pub types: u64,
    /// Base of the records' numbers.
    pub records: u64,
}

impl Layout {
    /// Of x86-64: 47 bits.
    pub const X86_64: Layout = Layout::spread(0x2000_0000_0000, 0x3000_0000_0000, 40);

    /// Of x86-64 under `--cfg tally_tsan`: where ThreadSanitizer lets programs have memory, for tests of the runtime by
    /// itself. Compiled code and `tally.h` know the other place.
    pub(crate) const X86_64_TSAN: Layout = Layout::spread(0x5700_0000_0000, 0x5800_0000_0000, 37);

    /// Of AArch64: 39 bits.
    pub const AARCH64: Layout = Layout {
        heap_base: 0x20_0000_0000,
        heap_span: 1 << 37,
        records: 0x10_0000_0000,
        counts: 0x40_0000_0000,
        trial: 0x42_0000_0000,
        live: 0x44_0000_0000,
        buffered: 0x44_8000_0000,
        unlogged: 0x45_0000_0000,
        mark: 0x45_4000_0000,
        block_info: 0x45_8000_0000,
        types: 0x45_9000_0000,
    };

    /// Of RISC-V: 38 bits.
    pub const RISCV64: Layout = Layout {
        heap_base: 0x10_0000_0000,
        heap_span: 1 << 36,
        records: 0x08_0000_0000,
        counts: 0x20_0000_0000,
        trial: 0x21_0000_0000,
        live: 0x22_0000_0000,
        buffered: 0x22_4000_0000,
        unlogged: 0x22_8000_0000,
        mark: 0x22_a000_0000,
        block_info: 0x22_c000_0000,
        types: 0x22_c800_0000,
    };

    const fn spread(heap_base: u64, tables: u64, shift: u32) -> Layout {
        Layout {
            heap_base,
            heap_span: 1 << 40,
            unlogged: tables,
            counts: tables + (1 << shift),
            live: tables + (2 << shift),
            trial: tables + (3 << shift),
            mark: tables + (4 << shift),
            buffered: tables + (5 << shift),
            block_info: tables + (6 << shift),
            types: tables + (7 << shift),
            records: tables + (8 << shift),
        }
    }

    /// `((object >> 9) << 2) + unlogged_bias` is the address of the 32-bit word with the object's unlogged bit.
    pub const fn unlogged_bias(&self) -> u64 {
        self.unlogged - (self.heap_base >> 7)
    }

    /// `(object >> 4) + counts_bias` is the address of the object's count byte.
    pub const fn counts_bias(&self) -> u64 {
        self.counts - (self.heap_base >> 4)
    }

    /// `readings + id * 8` is the address of the number of the reading of type `id`.
    pub const fn readings(&self) -> u64 {
        self.types + (8 << TYPE_ID_BITS)
    }

    /// Shifted right by this, every address of the heap range is the same number, [`Layout::heap_region`].
    pub const fn span_shift(&self) -> u32 {
        self.heap_span.trailing_zeros()
    }

    /// The number that a shift by [`Layout::span_shift`] makes of an address of the heap.
    pub const fn heap_region(&self) -> u64 {
        self.heap_base >> self.span_shift()
    }

    /// Each part of a heap of `bytes`, with its length.
    pub const fn parts(&self, bytes: u64) -> [(u64, u64); 9] {
        let block_infos = (bytes >> super::range::BLOCK_SHIFT) * super::range::BLOCK_INFO_BYTES;
        [
            (self.heap_base, bytes),
            (self.unlogged, bytes >> 7),
            (self.counts, bytes >> 4),
            (self.live, bytes >> 6),
            (self.trial, bytes >> 4),
            (self.mark, bytes >> 7),
            (self.buffered, bytes >> 6),
            (self.block_info, block_infos),
            (self.records, bytes >> 1),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_largest_heap_do_not_overlap() {
        for layout in [Layout::X86_64, Layout::AARCH64, Layout::RISCV64] {
            let mut parts = layout.parts(layout.heap_span).to_vec();
            parts.push((layout.types, 16 << TYPE_ID_BITS));
            parts.sort_unstable();
            for pair in parts.windows(2) {
                assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{:#x?}", pair);
            }
            assert!(layout.heap_span.is_power_of_two() && layout.heap_base.is_multiple_of(layout.heap_span));
        }
    }

    /// Whether all parts of the largest heap lie between these addresses.
    fn lies_between(layout: Layout, lowest: u64, highest: u64) -> bool {
        let mut parts = layout.parts(layout.heap_span).to_vec();
        parts.push((layout.types, 16 << TYPE_ID_BITS));
        parts.iter().all(|&(base, bytes)| base >= lowest && base + bytes <= highest)
    }

    // Linux: ELF_ET_DYN_BASE is two thirds of the address space; qemu's for AArch64 is 0x55_0000_0000, for RISC-V 0x40_0000_0000.
    #[test]
    fn layout_of_aarch64_leaves_the_kernels_places_alone_where_addresses_have_39_bits() {
        assert!(lies_between(Layout::AARCH64, 16 << 30, 0x55_0000_0000));
    }

    #[test]
    fn layout_of_riscv_leaves_the_kernels_places_alone_where_addresses_have_38_bits() {
        assert!(lies_between(Layout::RISCV64, 16 << 30, (1 << 38) / 3 * 2));
    }
}
