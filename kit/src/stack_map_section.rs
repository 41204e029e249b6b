//! Writes stack map sections for tests, byte by byte after the layout in `stack-roots/src/stack_map.rs`.
//!
//! It shares no code with the reader, so that a mistake in one shows against the other; both are compared with the
//! section that `llc` wrote (`FIXTURE`).

/// The section of `fixtures/deopt_bundles.ll`, as `llc` wrote it.
pub const FIXTURE: &[u8] = include_bytes!("../../stack-roots/fixtures/deopt_bundles.stackmaps");

/// LLVM's id for calls with a "deopt" bundle.
const DEOPT_ID: u64 = 0xABCD_EF0F;

/// A location as (kind, register, offset).
pub type Place = (u8, u16, i32);

/// One blob under construction; records belong to the function named last.
#[derive(Clone, Default)]
pub struct Section {
    functions: Vec<(u64, u64, u64)>,
    constants: Vec<u64>,
    records: Vec<(u64, u32, Vec<Place>)>,
}

impl Section {
    /// Without functions, constants and records.
    pub fn new() -> Self {
        Section::default()
    }

    /// A function, to which the records that follow belong.
    pub fn function(mut self, address: u64, stack_size: u64) -> Self {
        self.functions.push((address, stack_size, 0));
        self
    }

    /// A large constant.
    pub fn constant(mut self, value: u64) -> Self {
        self.constants.push(value);
        self
    }

    /// A record with any id and locations.
    pub fn record(mut self, id: u64, offset: u32, places: &[Place]) -> Self {
        self.functions.last_mut().expect("a function first").2 += 1;
        self.records.push((id, offset, places.to_vec()));
        self
    }

    /// A call whose bundle names the given (id, slot) pairs.
    pub fn call(mut self, offset: u32, roots: &[(u64, Place)]) -> Self {
        let mut places = vec![(4, 0, 0), (4, 0, 0), (4, 0, 2 * roots.len() as i32)];
        for &(id, slot) in roots {
            match i32::try_from(id as i64) {
                Ok(small) => places.push((4, 0, small)),
                Err(_) => {
                    places.push((5, 0, self.constants.len() as i32));
                    self.constants.push(id);
                }
            }
            places.push(slot);
        }
        self.record(DEOPT_ID, offset, &places)
    }

    /// The section, as an object holds it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![3, 0, 0, 0];
        for count in [self.functions.len(), self.constants.len(), self.records.len()] {
            out.extend((count as u32).to_le_bytes());
        }
        for &(address, stack_size, records) in &self.functions {
            for word in [address, stack_size, records] {
                out.extend(word.to_le_bytes());
            }
        }
        for constant in &self.constants {
            out.extend(constant.to_le_bytes());
        }
        for (id, offset, places) in &self.records {
            out.extend(id.to_le_bytes());
            out.extend(offset.to_le_bytes());
            out.extend([0, 0]);
            out.extend((places.len() as u16).to_le_bytes());
            for &(kind, register, offset) in places {
                out.extend([kind, 0, 8, 0]);
                out.extend(register.to_le_bytes());
                out.extend([0, 0]);
                out.extend(offset.to_le_bytes());
            }
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend([0; 8]);
        }
        out
    }
}
