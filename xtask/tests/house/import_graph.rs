//! Which source file names which: by its imports, and by paths in its code. Unit tests, comments and methods are left out.
//!
//! A path is followed through re-exports to the file that has the item. A method is found by its type's name only where that is named:
//! so a file with a type's state and one with its verbs may both stand, and only the second names the first.

use crate::code;
use crate::sources::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Crates of the project: their folder, and their name in paths.
const CRATES: [(&str, &str); 8] = [
    ("rc-runtime", "tally_heap"),
    ("cycle-detector", "tally_collector"),
    ("compiled-code", "tally_compiled"),
    ("stack-roots", "stack_roots"),
    ("frontend-glue", "tally_llvm"),
    ("aot-runtime", "tally"),
    ("heap-picture", "heap_picture"),
    ("tally", "tally_gc"),
];
/// Words before the name of an item.
const ITEMS: [&str; 10] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod", "macro_rules"];

/// A module: its crate's folder and the names on the way to it.
type Module = (String, Vec<String>);

/// What one file says.
#[derive(Default)]
struct File {
    path: String,
    /// Names that it imports at its top, and what they stand for.
    names: BTreeMap<String, Module>,
    globs: Vec<Module>,
    items: BTreeSet<String>,
    /// Every path in it, from a crate's root.
    paths: Vec<Module>,
}

/// The files of all crates, and for each the files that it names.
pub fn of(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let places: BTreeSet<Module> = sources.iter().filter_map(|file| place_of(&file.path)).collect();
    let mut files: BTreeMap<Module, File> = BTreeMap::new();
    for source in sources {
        if let Some(place) = place_of(&source.path) {
            files.insert(place.clone(), read(source, &place, &places));
        }
    }
    let named = |file: &File| -> BTreeSet<String> {
        let targets = file.paths.iter().filter_map(|path| resolve(path, &files, &mut BTreeSet::new()));
        targets.filter(|target| *target != file.path).collect()
    };
    files.values().map(|file| (file.path.clone(), named(file))).collect()
}

/// The module that a path of a source is, if it is one of a crate's.
fn place_of(path: &str) -> Option<Module> {
    let (folder, rest) = path.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    CRATES.iter().find(|(known, _)| *known == folder)?;
    let names = if rest == "lib" { vec![] } else { rest.split('/').map(str::to_owned).collect() };
    Some((folder.to_owned(), names))
}

/// Words, `::`, and everything else letter by letter.
fn tokens(code: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(letter) = code[at..].chars().next() {
        let end = match letter {
            _ if is_part(letter) => code[at..].find(|letter| !is_part(letter)).map_or(code.len(), |end| at + end),
            ':' if code[at..].starts_with("::") => at + 2,
            _ => at + letter.len_utf8(),
        };
        if !letter.is_whitespace() {
            found.push(&code[at..end]);
        }
        at = end;
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn read(source: &Source, place: &Module, places: &BTreeSet<Module>) -> File {
    let code = code::of(&source.text);
    let tokens = tokens(&code);
    let mut file = File { path: source.path.clone(), ..File::default() };
    // Modules that are written out in the file, with the depth at which each ends.
    let (mut inner, mut depth): (Vec<(String, usize)>, usize) = (Vec::new(), 0);
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inner.retain(|&(_, end)| end < depth + 1);
            }
            "mod" if tokens.get(at + 2) == Some(&"{") => inner.push((tokens[at + 1].to_owned(), depth + 1)),
            // `pub(in path)` says who may name the item.
            "(" if tokens.get(at + 1) == Some(&"in") => {
                at += tokens[at..].iter().position(|token| *token == ")").unwrap_or(0);
            }
            "use" => {
                let end = tokens[at..].iter().position(|token| *token == ";").map_or(tokens.len(), |end| at + end);
                for (path, alias) in tree(&tokens[at + 1..end]) {
                    note_import(&mut file, place, &inner, &path, alias, places);
                }
                at = end;
            }
            word if is_word(word) && tokens.get(at + 1) == Some(&"::") && (at == 0 || tokens[at - 1] != "::") => {
                let mut path = vec![word.to_owned()];
                while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|token| is_word(token)) {
                    path.push(tokens[at + 2].to_owned());
                    at += 2;
                }
                let imported = file.names.get(&path[0]).filter(|module| places.contains(module)).cloned();
                let module = imported.map(|(folder, names)| (folder, [&names[..], &path[1..]].concat()));
                file.paths.extend(module.or_else(|| from_root(place, &inner, &path, places)));
            }
            word if ITEMS.contains(&word) => file.items.extend(tokens.get(at + 1).map(|name| (*name).to_owned())),
            _ => {}
        }
        at += 1;
    }
    file
}

fn note_import(
    file: &mut File,
    place: &Module,
    inner: &[(String, usize)],
    path: &[String],
    alias: String,
    places: &BTreeSet<Module>,
) {
    let Some(mut module) = from_root(place, inner, path, places) else { return };
    if alias == "*" {
        module.1.pop();
        file.globs.push(module.clone());
    } else if inner.is_empty() {
        file.names.insert(alias, module.clone());
    }
    file.paths.push(module);
}

/// The paths of a tree of imports, and the name that each has afterwards.
fn tree(tokens: &[&str]) -> Vec<(Vec<String>, String)> {
    fn branch(before: &[String], tokens: &[&str], found: &mut Vec<(Vec<String>, String)>) {
        let (mut depth, mut from) = (0, 0);
        for at in 0..=tokens.len() {
            match tokens.get(at) {
                Some(&"{") => depth += 1,
                Some(&"}") => depth -= 1,
                Some(&",") | None if depth == 0 => {
                    leaf(before, &tokens[from..at], found);
                    from = at + 1;
                }
                _ => {}
            }
        }
    }
    fn leaf(before: &[String], tokens: &[&str], found: &mut Vec<(Vec<String>, String)>) {
        let words =
            |tokens: &[&str]| tokens.iter().filter(|token| **token != "::").map(|token| (*token).to_owned()).collect();
        let join =
            |tokens: &[&str]| -> Vec<String> { [before, &Vec::from_iter::<Vec<String>>(words(tokens))].concat() };
        if let Some(open) = tokens.iter().position(|token| *token == "{") {
            return branch(&join(&tokens[..open]), &tokens[open + 1..tokens.len() - 1], found);
        }
        let renamed = tokens.iter().position(|token| *token == "as");
        let mut path = join(&tokens[..renamed.unwrap_or(tokens.len())]);
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let name = renamed.map(|at| tokens[at + 1].to_owned()).or_else(|| path.last().cloned());
        found.extend(name.filter(|_| !tokens.is_empty()).map(|name| (path, name)));
    }
    let mut found = Vec::new();
    branch(&[], tokens, &mut found);
    found
}

/// What a path means in a file at `place`, inside the modules `inner` of it; `None` if it begins in no crate of ours.
fn from_root(place: &Module, inner: &[(String, usize)], path: &[String], places: &BTreeSet<Module>) -> Option<Module> {
    let (folder, names) = place;
    let here = || names.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect::<Vec<_>>();
    let at = |base: &[String], rest: &[String]| Some((folder.clone(), [base, rest].concat()));
    match path[0].as_str() {
        "crate" => at(&[], &path[1..]),
        "self" => at(&here(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            let here = here();
            at(&here[..here.len().checked_sub(ups)?], &path[ups..])
        }
        head => {
            if let Some((other, _)) = CRATES.iter().find(|(_, name)| *name == head) {
                return Some(((*other).to_owned(), path[1..].to_vec()));
            }
            let child = [&names[..], &path[..1]].concat();
            places.contains(&(folder.clone(), child)).then(|| at(names, path))?
        }
    }
}

/// The file that has what the path names.
fn resolve(path: &Module, files: &BTreeMap<Module, File>, seen: &mut BTreeSet<Module>) -> Option<String> {
    if !seen.insert(path.clone()) {
        return None;
    }
    let (folder, names) = path;
    let length =
        (0..=names.len()).rev().find(|&length| files.contains_key(&(folder.clone(), names[..length].to_vec())))?;
    let file = &files[&(folder.clone(), names[..length].to_vec())];
    let Some(item) = names.get(length) else { return Some(file.path.clone()) };
    let beyond = |(folder, to): &Module, rest: &[String]| (folder.clone(), [&to[..], rest].concat());
    if let Some(found) = file.names.get(item).and_then(|to| resolve(&beyond(to, &names[length + 1..]), files, seen)) {
        return Some(found);
    }
    if !file.items.contains(item) {
        let through = file.globs.iter().find_map(|to| resolve(&beyond(to, &names[length..]), files, seen));
        if let Some(found) = through.filter(|found| !found.ends_with("/src/lib.rs")) {
            return Some(found);
        }
    }
    Some(file.path.clone())
}

#[test]
fn imports_paths_and_re_exports_are_followed() {
    let file = |name: &str, text: &str| Source { path: format!("rc-runtime/src/{name}.rs"), text: text.to_owned() };
    let graph = of(&[
        file("lib", "mod a;\nmod b;\npub use a::{A, child::Deep as Shown};"),
        file(
            "a",
            "mod child;\npub(in crate::c) struct A;\nfn f() { child::Deep; }\n#[cfg(test)]\nmod tests { use crate::b::B; }",
        ),
        file(
            "a/child",
            "//! crate::b\npub struct Deep; use std::fmt; mod flag { const C: u8 = super::super::super::b::B; }",
        ),
        file("b", "use crate::{Shown, /* crate::a */ c as see};\npub const B: u8 = see::C;"),
        file("c", "pub const C: u8 = 1; fn text() { \"crate::a::A\"; }"),
    ]);
    let names = |file: &str| -> Vec<&str> {
        let short = |path: &'_ str| {
            path.strip_prefix("rc-runtime/src/").and_then(|path| path.strip_suffix(".rs")).map(|path| path.len())
        };
        let named = &graph[&format!("rc-runtime/src/{file}.rs")];
        named.iter().map(|path| &path["rc-runtime/src/".len()..][..short(path).expect("a source")]).collect()
    };
    assert_eq!(
        (names("a"), names("a/child"), names("b"), names("c")),
        (vec!["a/child"], vec!["b"], vec!["a/child", "c"], vec![])
    );
}
