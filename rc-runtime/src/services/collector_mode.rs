//! The hints of languages that let a program choose how its collector works: they are taken, and change nothing.

/// What a program may say of its objects. Every plan decides by itself what it looks at and when, so nothing depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum CollectorMode {
    /// The collector works in small steps.
    #[default]
    Incremental = 1,
    /// Most objects die young.
    Generational = 2,
}
