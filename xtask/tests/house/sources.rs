//! The project's own text files: all of the tree but what is built, hidden or downloaded.

use std::path::{Path, PathBuf};

/// Hidden folders that are part of the project.
const HIDDEN_BUT_OURS: [&str; 2] = [".cargo", ".ci"];

/// A text file of the project.
pub struct Source {
    /// Its path from the project's folder, with `/` between the parts.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl Source {
    /// The file's own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ stands inside the project's folder")
}

/// Every text file of the project, sorted by path.
pub fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(root(), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 30, "the tree has more than {} files", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry of the tree can be read").path()) {
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        // In a second working tree of git `.git` is a file.
        if name == ".git" {
            continue;
        }
        if path.is_dir() {
            let skipped = name == "target" || name.starts_with('.') && !HIDDEN_BUT_OURS.contains(&name.as_str());
            if !skipped {
                collect(&path, found);
            }
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            found.push(Source { path: relative(&path), text });
        }
    }
}

fn relative(path: &Path) -> String {
    let below: PathBuf = path.strip_prefix(root()).expect("the file is in the tree").into();
    below.to_string_lossy().replace('\\', "/")
}
