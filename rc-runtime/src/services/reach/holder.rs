//! What holds an object, and the path from a root as text, for people.

use crate::object::ObjectRef;
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

/// Steps at the beginning and at the end of a path that its text shows; a longer one is cut in the middle.
const SHOWN: usize = 12;

/// A root.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// A variable of a function that is running.
    Variable {
        /// Its name, or `None` for a temporary of the compiler.
        name: Option<Arc<str>>,
        /// The function's name, where it is known.
        function: Option<Arc<str>>,
        /// File and line where it was made a root, where they are known.
        place: Option<(Arc<str>, u32)>,
    },
    /// A global variable.
    Global(Arc<str>),
    /// A scoped handle.
    Handle,
    /// A global handle.
    GlobalHandle,
    /// The root stack of a host in Rust.
    Host,
    /// The object is immortal.
    Immortal,
    /// The object waits for its finalizer, or that is running.
    Finalizer,
    /// The object is a stack that runs, or that waits for one that runs.
    Stack,
}

/// What holds an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A root.
    Root(Root),
    /// An object, by the word at an offset of its payload; `None`: a trace function has found the reference.
    Object(ObjectRef, Option<u64>),
}

/// A step of a path: the holder, and the object that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What holds it.
    pub holder: Holder,
    /// The object.
    pub held: ObjectRef,
}

impl Holder {
    /// An object that refers to `held`: by its first word that does.
    pub(super) fn of_object(holder: ObjectRef, held: ObjectRef) -> Holder {
        Holder::Object(holder, holder.type_info().offset_of_reference(holder, held))
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Root::Variable { name, function, place } => {
                match name {
                    Some(name) => write!(f, "root `{name}`")?,
                    None => write!(f, "a temporary")?,
                }
                if let Some(function) = function {
                    write!(f, " of function `{function}`")?;
                }
                match place {
                    Some((file, line)) => write!(f, " ({file}:{line})"),
                    None => Ok(()),
                }
            }
            Root::Global(name) => write!(f, "global root `{name}`"),
            Root::Handle => write!(f, "a handle"),
            Root::GlobalHandle => write!(f, "a global handle"),
            Root::Host => write!(f, "a root of the host"),
            Root::Immortal => write!(f, "immortality"),
            Root::Finalizer => write!(f, "a finalizer that is to run"),
            Root::Stack => write!(f, "running, or waiting for a stack that runs"),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Root(root) => root.fmt(f),
            &Holder::Object(object, offset) => {
                let info = object.type_info();
                write!(f, "`{}` at {:#x}", info.name, object.address())?;
                match offset {
                    Some(offset) => write!(f, ", {}", info.field_name(offset)),
                    None => write!(f, ", by its trace function"),
                }
            }
        }
    }
}

/// The path as text, a line for each holder and one for the object; long ones are cut in the middle.
pub fn text(path: &[Link]) -> String {
    let mut text = String::new();
    for (at, link) in path.iter().enumerate() {
        if path.len() <= 2 * SHOWN || at < SHOWN || at >= path.len() - SHOWN {
            _ = writeln!(text, "    {}{}", if at == 0 { "" } else { "-> " }, link.holder);
        } else if at == SHOWN {
            _ = writeln!(text, "    … {} more …", path.len() - 2 * SHOWN);
        }
    }
    if let Some(last) = path.last() {
        _ = writeln!(text, "    -> `{}` at {:#x}", last.held.type_info().name, last.held.address());
    }
    text
}
