//! Generated parts of docs/use/performance.md: tables between two markers, and pictures beside it.
//!
//! `bench peers --document` and `bench scaling --document` put what they measured where readers find it. A part stands between
//! `<!-- NAME: begin -->` and `<!-- NAME: end -->`; what is outside is written by hand and left alone.

use crate::failure::Failure;
use crate::tree;
use std::path::Path;

/// The document, from the project's folder.
const DOCUMENT: &str = "docs/use/performance.md";
/// Its pictures.
const PICTURES: &str = "docs/use/performance";

/// Replaces one part.
pub fn replace_part(name: &str, part: &str) -> Result<(), Failure> {
    let path = tree::root().join(DOCUMENT);
    let text =
        std::fs::read_to_string(&path).map_err(|error| Failure::step(format!("cannot read {DOCUMENT}: {error}")))?;
    let text = with_part(&text, name, part).ok_or_else(|| {
        Failure::step(format!("{DOCUMENT} has no `<!-- {name}: begin -->` with a `<!-- {name}: end -->` after it"))
    })?;
    write(&path, &text)
}

/// Writes a picture that the document shows.
pub fn write_picture(name: &str, svg: &str) -> Result<(), Failure> {
    write(&tree::root().join(PICTURES).join(name), svg)
}

/// Writes a file and says where.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::unprepared(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

fn with_part(text: &str, name: &str, part: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{}\n{end}{after}", part.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::with_part;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = "# A\n<!-- x: begin -->\nold\n<!-- x: end -->\nB <!-- y: begin -->\n";
        let new = with_part(text, "x", "new\n\n").expect("there is such a part");
        assert_eq!(new, "# A\n<!-- x: begin -->\nnew\n<!-- x: end -->\nB <!-- y: begin -->\n");
        assert_eq!(with_part(&new, "x", "new"), Some(new.clone()), "done twice it is the same");
        assert_eq!(with_part(text, "y", "new"), None, "y has no end");
    }
}
