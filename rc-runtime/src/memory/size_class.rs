//! Size classes of the prompt plan's cells. The lowering evaluates the same functions: inline allocation takes a cell from
//! `context.free[class]`.
//!
//! ```text
//! class   0 … 14    16, 24, 32 … 128 bytes                       8-byte steps
//!        15 … 70    144, 160 … 256, 288 … 512, … 16384 bytes     eight steps per doubling
//!        71 … 81    16, 32, 64 … 16384 bytes                     payload aligned to the cell's size
//! ```
//!
//! A cell of a class up to 70 is at most an eighth larger than asked for. The last classes are for types that ask for
//! more than 8 bytes of alignment: their cells are powers of two and each payload lies at a multiple of that. The
//! scheme of steps per doubling is that of jemalloc and mimalloc (Leijen, Zorn, de Moura 2019, "Mimalloc: Free List
//! Sharding in Action").

use crate::memory::range::BLOCK_BYTES;
use crate::object::SMALLEST_CELL;

/// Cells above this size are large objects.
pub const LARGEST_CELL: u64 = 16384;
/// Classes with 8-byte steps.
const FINE_CLASSES: u32 = 15;
/// Largest cell of those.
const LARGEST_FINE_CELL: u64 = 128;
/// Classes whose payloads are aligned to 8 bytes.
pub(crate) const PLAIN_CLASSES: u32 = FINE_CLASSES + 7 * 8;
/// All classes.
pub(crate) const CLASSES: u32 = PLAIN_CLASSES + 11;

/// The class of cells of `cell` bytes: a multiple of 8, from 16 to [`LARGEST_CELL`].
#[inline(always)]
pub const fn class_of(cell: u64) -> u32 {
    debug_assert!(cell >= SMALLEST_CELL && cell <= LARGEST_CELL && cell.is_multiple_of(8));
    if cell <= LARGEST_FINE_CELL {
        return ((cell - SMALLEST_CELL) / 8) as u32;
    }
    // The doubling from 2^n to 2^(n+1) has steps of 2^(n-3).
    let doubling = (cell - 1).ilog2();
    let step = ((cell - 1) >> (doubling - 3)) as u32 & 7;
    FINE_CLASSES + (doubling - 7) * 8 + step
}

/// The class of cells of `cell` bytes whose payload is aligned to `align`, a power of two above 8 and up to 4096.
pub const fn aligned_class_of(cell: u64, align: u64) -> u32 {
    let bytes = if cell > align { cell } else { align };
    PLAIN_CLASSES + bytes.next_power_of_two().ilog2() - 4
}

/// Bytes of a cell of `class`.
#[inline(always)]
pub(crate) const fn class_cell(class: u32) -> u64 {
    debug_assert!(class < CLASSES);
    if class < FINE_CLASSES {
        return SMALLEST_CELL + class as u64 * 8;
    }
    if class >= PLAIN_CLASSES {
        return 16 << (class - PLAIN_CLASSES);
    }
    let (doubling, step) = (7 + (class - FINE_CLASSES) / 8, (class - FINE_CLASSES) % 8);
    (8 + step as u64 + 1) << (doubling - 3)
}

/// Byte offset in a block of the first payload.
#[inline(always)]
pub(crate) const fn first_payload(class: u32) -> u64 {
    if class < PLAIN_CLASSES { 8 } else { class_cell(class) }
}

/// Cells in a block of `class`.
#[inline(always)]
pub(crate) const fn cells_per_block(class: u32) -> u64 {
    (BLOCK_BYTES + 8 - first_payload(class)) / class_cell(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_fits_its_class_and_no_smaller_one() {
        for cell in (SMALLEST_CELL..=LARGEST_CELL).step_by(8) {
            let class = class_of(cell);
            assert!(class < PLAIN_CLASSES);
            assert!(class_cell(class) >= cell, "{cell} in class {class} of {}", class_cell(class));
            assert!(class == 0 || class_cell(class - 1) < cell, "{cell} would fit class {}", class - 1);
            assert!((class_cell(class) - cell) * 8 <= cell, "{cell} wastes more than an eighth in class {class}");
        }
        assert_eq!(class_of(LARGEST_CELL), PLAIN_CLASSES - 1);
    }

    #[test]
    fn every_aligned_cell_fits_its_class_and_its_alignment() {
        for align in (4..=12).map(|shift| 1u64 << shift) {
            for cell in (SMALLEST_CELL..=LARGEST_CELL).step_by(8) {
                let class = aligned_class_of(cell, align);
                assert!((PLAIN_CLASSES..CLASSES).contains(&class));
                assert!(class_cell(class) >= cell && class_cell(class).is_multiple_of(align));
            }
        }
    }

    #[test]
    fn cells_lie_inside_their_block_and_do_not_overlap() {
        for class in 0..CLASSES {
            let (cell, first, cells) = (class_cell(class), first_payload(class), cells_per_block(class));
            assert!(cells >= 1 && first >= 8);
            let end_of_last = first - 8 + cells * cell;
            assert!(end_of_last <= BLOCK_BYTES, "class {class} ends at {end_of_last}");
            assert!(class >= PLAIN_CLASSES || end_of_last + cell > BLOCK_BYTES, "class {class} wastes a cell");
            assert_eq!(class_cell(class) % 8, 0);
            if class >= PLAIN_CLASSES {
                assert!(first.is_multiple_of(cell));
            }
        }
    }
}
