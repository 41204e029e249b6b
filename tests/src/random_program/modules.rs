//! The files of a program: its text once for each module, with the differences in the first lines.
//!
//! One text for all of them can be read and made short like any other; `#if MODULE == n` marks the parts of a module.
//! A text without `#define MODULES` is one module.

use std::path::{Path, PathBuf};

/// Whether the program's types have destructors; only the prompt plan can run them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destructors {
    /// Its types have none.
    Without,
    /// They count.
    With,
}

/// Writes the modules of the program in `place` next to it; returns their paths.
///
/// # Errors
/// The system's message.
pub fn write(place: &Path, destructors: Destructors) -> Result<Vec<PathBuf>, String> {
    let at = |error: std::io::Error| format!("{}: {error}", place.display());
    let text = std::fs::read_to_string(place).map_err(at)?;
    let (name, define) = match destructors {
        Destructors::Without => ("plain", ""),
        Destructors::With => ("destroyed", "#define DESTRUCTORS 1\n"),
    };
    let write_one = |module: usize| {
        let file = place.with_extension(format!("{name}.{module}.c"));
        std::fs::write(&file, format!("#define MODULE {module}\n{define}#line 1\n{text}")).map_err(at)?;
        Ok(file)
    };
    (0..count(&text)).map(write_one).collect()
}

/// The number of modules of the program.
pub fn count(text: &str) -> usize {
    said(text, "#define MODULES ").unwrap_or(1)
}

/// Whether the program throws.
pub fn raises(text: &str) -> bool {
    said(text, "#define RAISES ") == Some(1)
}

fn said(text: &str, what: &str) -> Option<usize> {
    let mut said = text.lines().filter_map(|line| line.strip_prefix(what));
    said.next().map(|count| count.parse().expect("a number"))
}

#[cfg(test)]
mod tests {
    use super::{Destructors, count, write};

    #[test]
    fn each_module_is_the_text_with_its_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("program.c");
        std::fs::write(&place, "#define MODULES 2\nint x;\n").expect("it can be written to");
        let files = write(&place, Destructors::With).expect("both");
        let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).expect("it is there")).collect();
        let expected =
            |module| format!("#define MODULE {module}\n#define DESTRUCTORS 1\n#line 1\n#define MODULES 2\nint x;\n");
        assert_eq!(texts, [expected(0), expected(1)]);
        assert_eq!(count("int main() {}\n"), 1);
    }
}
