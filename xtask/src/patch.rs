//! A change to one file of a copy of the tree: its text, which must stand there exactly once, becomes another.
//!
//! `mutants` and `ablate` try changes in a copy below the target folder, which has a target folder of its own. So no
//! other build is touched. The copy keeps files that are the same, and cargo builds only what a change touches.

use crate::failure::Failure;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A change to one file.
#[derive(Debug, Clone, Copy)]
pub struct Patch<'list> {
    /// What the entry of the list is called.
    pub name: &'list str,
    /// The source file, from the project's folder.
    pub file: &'list str,
    /// What stands there, exactly once.
    pub text: &'list str,
    /// What stands there instead.
    pub becomes: &'list str,
}

impl Patch<'_> {
    /// The file with the change; `list` is named where the text does not stand there once.
    pub fn applied(&self, root: &Path, list: &str) -> Result<String, String> {
        let text = std::fs::read_to_string(root.join(self.file)).map_err(|error| format!("{}: {error}", self.file))?;
        match text.matches(self.text).count() {
            1 => Ok(text.replacen(self.text, self.becomes, 1)),
            count => Err(format!("{}: the text of `{}` stands there {count} times; mend {list}", self.file, self.name)),
        }
    }

    /// Does `work` while the change stands in `tree`; afterwards the file is as it was.
    pub fn with<T>(&self, tree: &Path, list: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let changed = self.applied(tree, list)?;
        let place = tree.join(self.file);
        let failed = |error: std::io::Error| format!("{}: {error}", place.display());
        let original = std::fs::read_to_string(&place).map_err(failed)?;
        std::fs::write(&place, changed).map_err(failed)?;
        let result = work();
        std::fs::write(&place, original).map_err(failed)?;
        result
    }
}

/// Brings the copy up to date. Files that are the same are left alone, so that cargo builds only what has changed.
pub fn copy_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    let problem = |path: &Path, error: std::io::Error| Failure::step(format!("{}: {error}", path.display()));
    let mut wanted = BTreeSet::new();
    std::fs::create_dir_all(to).map_err(|error| problem(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| problem(from, error))? {
        let source = entry.map_err(|error| problem(from, error))?.path();
        let name = source.file_name().expect("an entry has a name").to_owned();
        let shown = name.to_string_lossy();
        if shown == "target" || shown.starts_with('.') && shown != ".cargo" {
            continue;
        }
        let copy = to.join(&name);
        wanted.insert(name.clone());
        if source.is_dir() {
            copy_tree(&source, &copy)?;
        } else {
            let bytes = std::fs::read(&source).map_err(|error| problem(&source, error))?;
            if std::fs::read(&copy).ok().as_deref() != Some(&bytes[..]) {
                std::fs::write(&copy, bytes).map_err(|error| problem(&copy, error))?;
            }
        }
    }
    for entry in std::fs::read_dir(to).map_err(|error| problem(to, error))? {
        let stale: PathBuf = entry.map_err(|error| problem(to, error))?.path();
        if !wanted.contains(stale.file_name().expect("an entry has a name")) {
            let removed = if stale.is_dir() { std::fs::remove_dir_all(&stale) } else { std::fs::remove_file(&stale) };
            removed.map_err(|error| problem(&stale, error))?;
        }
    }
    Ok(())
}

/// Whether a Rust file below the folder has the text.
#[cfg(test)]
pub fn holds(folder: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("a package's folder");
    entries.map(|entry| entry.expect("an entry").path()).any(|path| {
        path.is_dir() && holds(&path, text)
            || path.extension().is_some_and(|ending| ending == "rs")
                && std::fs::read_to_string(&path).is_ok_and(|file| file.contains(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_gone_or_stands_twice_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("code.rs"), "one three three").expect("it can be written to");
        let applied = |text: &str| {
            let patch = Patch { name: "m", file: "code.rs", text, becomes: "two" };
            patch.applied(folder.path(), "the list")
        };
        assert_eq!(applied("one").as_deref(), Ok("two three three"));
        for (text, count) in [("four", "0 times"), ("three", "2 times")] {
            let complaint = applied(text).expect_err("it does not apply");
            assert!(complaint.contains(count) && complaint.contains("code.rs"), "{complaint}");
        }
    }

    #[test]
    fn file_is_as_it_was_after_the_work_also_when_that_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("code.rs");
        std::fs::write(&place, "one three").expect("it can be written to");
        let read = || std::fs::read_to_string(&place).expect("it is there");
        let patch = Patch { name: "m", file: "code.rs", text: "one", becomes: "two" };
        assert_eq!(patch.with(folder.path(), "the list", || Ok(read())).as_deref(), Ok("two three"));
        assert_eq!(read(), "one three");
        assert_eq!(patch.with::<()>(folder.path(), "the list", || Err("no".to_owned())), Err("no".to_owned()));
        assert_eq!(read(), "one three");
    }

    #[test]
    fn copy_follows_the_tree_and_leaves_out_what_is_built() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(from.join("src")).expect("a folder");
        std::fs::create_dir_all(from.join("target")).expect("a folder");
        std::fs::write(from.join("src/a.rs"), "a").expect("a file");
        copy_tree(&from, &to).expect("a copy");
        assert!(to.join("src/a.rs").is_file() && !to.join("target").exists());
        std::fs::remove_file(from.join("src/a.rs")).expect("it was there");
        std::fs::write(from.join("src/b.rs"), "b").expect("a file");
        copy_tree(&from, &to).expect("a copy");
        assert!(to.join("src/b.rs").is_file() && !to.join("src/a.rs").exists());
    }
}
