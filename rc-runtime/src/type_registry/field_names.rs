//! Names of a type's fields, for messages: where a host or a module has told them.
//!
//! The text is offset and name of each field, `0 next 8 value`. A field at the end of the fixed part names the elements,
//! and `+8 value` names what lies at an offset of an element.

use super::TypeInfo;

/// The last field in `fields` that does not begin behind `offset`, with its own offset.
pub(crate) fn find(fields: &str, offset: u64) -> Option<(u64, &str)> {
    let mut words = fields.split(' ');
    let mut found: Option<(u64, &str)> = None;
    while let (Some(at), Some(name)) = (words.next(), words.next()) {
        // With a sign it lies in an element.
        let Some(at) = at.parse::<u64>().ok().filter(|_| !at.starts_with('+')) else { continue };
        if at <= offset && found.is_none_or(|(before, _)| before <= at) {
            found = Some((at, name));
        }
    }
    found
}

fn find_in_element(fields: &str, offset: u64) -> Option<&str> {
    let mut words = fields.split(' ');
    while let (Some(at), Some(name)) = (words.next(), words.next()) {
        if at.strip_prefix('+').and_then(|at| at.parse().ok()) == Some(offset) {
            return Some(name);
        }
    }
    None
}

impl TypeInfo {
    /// Tells the names of the type's fields; only the first call counts.
    pub fn tell_field_names(&self, fields: &str) {
        self.fields.get_or_init(|| fields.into());
    }

    /// Whether they were told.
    pub fn has_field_names(&self) -> bool {
        self.fields.get().is_some()
    }

    /// The field at an offset of the payload as a C programmer would write it: `next`, `at[3]`, `entries[3].key`; or
    /// `byte 8` where no name is known.
    pub fn field_name(&self, offset: u64) -> String {
        let fields = self.fields.get().map_or("", |fields| &**fields);
        if self.stride == 0 || offset < self.size {
            return match find(fields, offset) {
                Some((at, name)) if at == offset => name.to_owned(),
                Some((at, name)) => format!("{name} + {}", offset - at),
                None => format!("byte {offset}"),
            };
        }
        let (element, within) = ((offset - self.size) / self.stride, (offset - self.size) % self.stride);
        let name = find(fields, offset).filter(|&(at, _)| at == self.size).map_or("element ", |(_, name)| name);
        let element = if name.ends_with(' ') { format!("{name}{element}") } else { format!("{name}[{element}]") };
        match find_in_element(fields, within) {
            Some(name) => format!("{element}.{name}"),
            None if within == 0 => element,
            None => format!("{element} + {within}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::descriptor::TypeDescriptor;
    use crate::type_registry::describe;

    #[test]
    fn a_field_is_named_as_its_program_writes_it() {
        let node = describe(&TypeDescriptor::plain(c"Node", 24, &[0, 8])).expect("sound");
        assert_eq!(node.field_name(8), "byte 8", "nothing was told");
        node.tell_field_names("0 next 8 child 16 value");
        node.tell_field_names("0 other");
        assert_eq!((node.field_name(0).as_str(), node.field_name(8).as_str()), ("next", "child"));
        let array = || describe(&TypeDescriptor::plain(c"Array", 16, &[8]).with_tail(0, 16, &[0])).expect("sound");
        let table = array();
        assert_eq!(table.field_name(16 + 3 * 16), "element 3");
        table.tell_field_names("0 length 8 class 16 entries");
        assert_eq!(table.field_name(8), "class");
        assert_eq!(table.field_name(16 + 3 * 16), "entries[3]");
        assert_eq!(table.field_name(16 + 3 * 16 + 8), "entries[3] + 8");
        let table = array();
        table.tell_field_names("8 class +0 key +8 value");
        assert_eq!(table.field_name(16 + 3 * 16 + 8), "element 3.value");
        let pair = describe(&TypeDescriptor::plain(c"Pair", 32, &[0, 8])).expect("sound");
        pair.tell_field_names("0 both 16 rest");
        assert_eq!(pair.field_name(8), "both + 8", "an array of two");
    }
}
