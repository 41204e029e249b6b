//! Errors of types: what is wrong, and in which field.

/// A fault of a type, with the field that has it.
///
/// ```
/// use tally::TypeBuilder;
///
/// let error = TypeBuilder::new("Node", 16).reference("next", 12).register().unwrap_err();
/// assert_eq!(error.field(), Some("next"));
/// assert_eq!(error.to_string(), "type `Node`, field `next`: offset 12 is not a multiple of 8; references are aligned words");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    name: String,
    field: Option<String>,
    fault: String,
}

impl TypeError {
    pub(crate) fn new(name: &str, field: Option<String>, fault: String) -> TypeError {
        TypeError { name: name.to_owned(), field, fault }
    }

    /// The type's name.
    pub fn type_name(&self) -> &str {
        &self.name
    }

    /// The field that has the fault, if one has.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl std::fmt::Display for TypeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "type `{}`", self.name)?;
        self.field.iter().try_for_each(|field| write!(f, ", field `{field}`"))?;
        write!(f, ": {}", self.fault)
    }
}

impl std::error::Error for TypeError {}
