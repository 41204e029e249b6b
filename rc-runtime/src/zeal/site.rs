//! Places in the program: what compiled code passes to zeal, and what zeal keeps of it.
//!
//! A [`Site`] is a constant of a module, which may be unloaded while its objects live on; so a [`Place`] is a copy. Places are
//! numbered, because every object has one or two of them.

use crate::type_registry::field_names;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_char};

/// The position that zeal lowering passes with each access, allocation and safepoint.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// Name of the function, a C string.
    pub function: *const c_char,
    /// Source file, a C string or null.
    pub file: *const c_char,
    /// Line, 0 when unknown.
    pub line: u32,
    /// Column, 0 when unknown.
    pub column: u32,
    /// Where there is no line: the instruction and its block as the IR names them, a C string; else null.
    pub instruction: *const c_char,
    /// Fields of the module's structs, a C string or null: a line for each, `Node 0 next 8 value`.
    pub fields: *const c_char,
}

/// A position in words, which may outlive the module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    function: Box<str>,
    file: Box<str>,
    line: u32,
    instruction: Box<str>,
}

/// Number of a place; 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceId(u32);

/// The places met so far.
#[derive(Debug, Default)]
pub struct Places {
    list: Vec<Place>,
    numbers: FxHashMap<Place, PlaceId>,
}

/// The source of the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, with the macros of `tally_gc.h`.
    C,
    /// IR, and other languages that become IR.
    Ir,
}

impl Site {
    /// The position in words.
    pub fn place(&self) -> Place {
        let text = |pointer: *const c_char| -> Box<str> {
            // SAFETY: the lowering emits C string constants.
            if pointer.is_null() { "".into() } else { unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into() }
        };
        Place {
            function: text(self.function),
            file: text(self.file),
            line: self.line,
            instruction: text(self.instruction),
        }
    }
}

impl Site {
    /// The field of a type at an offset, in words; nothing where its name is not known.
    pub fn field(&self, type_name: &str, offset: u64) -> String {
        if self.fields.is_null() {
            return String::new();
        }
        // SAFETY: the lowering emits a C string constant.
        let text = unsafe { CStr::from_ptr(self.fields) }.to_string_lossy();
        let fields = text.lines().find_map(|line| line.strip_prefix(type_name)?.strip_prefix(' '));
        match field_names::find(fields.unwrap_or_default(), offset) {
            Some((at, name)) if at == offset => format!("the field `{name}`, "),
            Some((_, name)) => format!("inside the field `{name}`, "),
            None => String::new(),
        }
    }
}

impl Place {
    /// The language of the source file.
    pub fn language(&self) -> Language {
        match self.file.rsplit_once('.') {
            Some((_, "c" | "h" | "C" | "cc" | "cpp" | "cxx" | "hpp")) => Language::C,
            _ => Language::Ir,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&*self.file, self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "{file}: ")?,
            (file, line) => write!(f, "{file}:{line}: ")?,
        }
        write!(f, "in function `{}`", if self.function.is_empty() { "?" } else { &self.function })?;
        if self.instruction.is_empty() { Ok(()) } else { write!(f, ", {}", self.instruction) }
    }
}

impl Places {
    /// The number of a place.
    pub fn number(&mut self, place: Place) -> PlaceId {
        if let Some(&known) = self.numbers.get(&place) {
            return known;
        }
        self.list.push(place.clone());
        let number = PlaceId(self.list.len() as u32);
        self.numbers.insert(place, number);
        number
    }

    /// The place of a number.
    pub fn get(&self, number: PlaceId) -> Option<&Place> {
        self.list.get((number.0 as usize).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(file: &'static CStr, line: u32, instruction: &'static CStr) -> Site {
        let instruction = if instruction.is_empty() { std::ptr::null() } else { instruction.as_ptr() };
        Site { function: c"f".as_ptr(), file: file.as_ptr(), line, column: 1, instruction, fields: std::ptr::null() }
    }

    #[test]
    fn a_field_is_named_by_type_and_offset() {
        let fields = c"Node 0 next 8 items 40 value\nNodes 0 length\n".as_ptr();
        let site = Site { fields, ..site(c"a.c", 1, c"") };
        assert_eq!(site.field("Node", 0), "the field `next`, ");
        assert_eq!(site.field("Node", 24), "inside the field `items`, ");
        assert_eq!(site.field("Nodes", 0), "the field `length`, ");
        assert_eq!(site.field("No", 0), "");
        assert_eq!(Site { fields: std::ptr::null(), ..site }.field("Node", 0), "");
    }

    #[test]
    fn a_place_is_said_as_exactly_as_it_is_known() {
        let lines = [
            (site(c"a.c", 7, c""), "a.c:7: in function `f`", Language::C),
            (site(c"a.ll", 0, c"%5 in block %entry"), "a.ll: in function `f`, %5 in block %entry", Language::Ir),
            (site(c"", 0, c""), "in function `f`", Language::Ir),
        ];
        for (site, text, language) in lines {
            assert_eq!((site.place().to_string().as_str(), site.place().language()), (text, language));
        }
    }

    #[test]
    fn equal_places_have_one_number_and_zero_is_none() {
        let mut places = Places::default();
        let (first, other) = (places.number(site(c"a.c", 7, c"").place()), places.number(site(c"a.c", 8, c"").place()));
        assert!(first != other && places.number(site(c"a.c", 7, c"").place()) == first);
        assert_eq!(places.get(first), Some(&site(c"a.c", 7, c"").place()));
        assert_eq!(places.get(PlaceId::default()), None);
    }
}
