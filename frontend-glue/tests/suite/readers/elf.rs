//! Writes relocatable objects for x86-64 by hand, with whatever lies a test wants in them.
//!
//! Shares no code with the readers. Source: System V ABI, chapter 4, "Object Files".

pub const PROGBITS: u32 = 1;
pub const SYMTAB: u32 = 2;
pub const STRTAB: u32 = 3;
pub const RELA: u32 = 4;
pub const ALLOC: u64 = 2;

/// One section; those of [`Elf::bytes`] are numbered from 1.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub link: u32,
    pub info: u32,
    pub data: Vec<u8>,
    /// What its header says instead of where the data is.
    pub claims: Option<(u64, u64)>,
}

/// An object under construction.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    pub parts: Vec<Part>,
}

impl Elf {
    /// Adds a section and returns its number.
    pub fn add(&mut self, part: Part) -> u32 {
        self.parts.push(part);
        self.parts.len() as u32
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut names = vec![0];
        let mut out = vec![0; 64];
        let mut headers = vec![0; 64];
        let named = Part { name: ".shstrtab", kind: STRTAB, ..Part::default() };
        for (index, part) in self.parts.iter().chain([&named]).enumerate() {
            let name = names.len() as u32;
            names.extend(part.name.bytes().chain([0]));
            let data = if index == self.parts.len() { &names } else { &part.data };
            let (offset, size) = part.claims.unwrap_or((out.len() as u64, data.len() as u64));
            let entry: u64 = if [SYMTAB, RELA].contains(&part.kind) { 24 } else { 0 };
            for word in [name, part.kind] {
                headers.extend(word.to_le_bytes());
            }
            for word in [part.flags, 0, offset, size] {
                headers.extend(word.to_le_bytes());
            }
            for word in [part.link, part.info] {
                headers.extend(word.to_le_bytes());
            }
            for word in [8, entry] {
                headers.extend(word.to_le_bytes());
            }
            out.extend(data);
            out.resize(out.len().next_multiple_of(8), 0);
        }
        let header_offset = out.len() as u64;
        out.extend(headers);
        out[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        let sections = self.parts.len() as u16 + 2;
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(16, &[1, 0, 62, 0, 1, 0, 0, 0]);
        put(40, &header_offset.to_le_bytes());
        put(52, &[64, 0]);
        put(58, &[64, 0]);
        put(60, &sections.to_le_bytes());
        put(62, &(sections - 1).to_le_bytes());
        out
    }
}

/// A global symbol: where its name is, its section and its value.
pub fn symbol(name: u32, section: u16, value: u64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..4].copy_from_slice(&name.to_le_bytes());
    bytes[4] = 0x11;
    bytes[6..8].copy_from_slice(&section.to_le_bytes());
    bytes[8..16].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// A relocation of eight bytes at `offset`: symbol + addend.
pub fn relocation(offset: u64, symbol: u32, addend: i64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&offset.to_le_bytes());
    bytes[8..16].copy_from_slice(&(u64::from(symbol) << 32 | 1).to_le_bytes());
    bytes[16..].copy_from_slice(&addend.to_le_bytes());
    bytes
}
