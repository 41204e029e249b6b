//! The IR of a program rewritten for its two builds, line by line; `second_opinion.rs` has the purpose.
//!
//! Both builds allocate and collect through `witness.c`. The shadow build's functions get LLVM's strategy, and
//!
//! * each root is null from its alloca on: LLVM's pass does that to plain pointers only;
//! * a root is declared once: LLVM's pass crashes at the second time;
//! * markers of a root's lifetime go: LLVM refuses them once roots are parts of a frame's list;
//! * plain loads and stores of a root are told to the witness, if nothing else can read or write it (its address is
//!   not taken).

/// The functions that go through the witness.
const THROUGH_THE_WITNESS: [(&str, &str); 4] = [
    ("@tally_new(", "@witness_new("),
    ("@tally_new_array(", "@witness_new_array("),
    ("@tally_safepoint(", "@witness_safepoint("),
    ("@tally_collect(", "@witness_collect("),
];

/// The program as Tally lowers and builds it.
pub fn for_tally(text: &str) -> String {
    THROUGH_THE_WITNESS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The program as LLVM's shadow stack keeps its roots.
pub fn for_shadow_stack(text: &str) -> String {
    let mut text = for_tally(text);
    for plan in ["refcount", "refcount-prompt"] {
        text = text.replace(&format!("gc \"{plan}\""), STRATEGY);
    }
    let (mut done, mut lines) = (String::new(), text.lines());
    while let Some(line) = lines.next() {
        let mut head = vec![line];
        while line.starts_with("define ") && !head[head.len() - 1].ends_with('{') {
            head.extend(lines.next());
        }
        head.iter().for_each(|line| push(&mut done, line));
        if head.iter().any(|line| line.contains(STRATEGY)) {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            function(&body, &mut done);
            push(&mut done, "}");
        }
    }
    done + "declare void @witness_wrote(ptr) nounwind\ndeclare void @witness_read(ptr, ptr) nounwind\n"
}

const STRATEGY: &str = "gc \"shadow-stack\"";

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A root of one function: its alloca, and the descriptor given to `llvm.gcroot`.
struct Root<'t> {
    alloca: &'t str,
    how: &'t str,
    /// Loaded, stored to, and nothing else.
    is_private: bool,
}

fn function(body: &[&str], done: &mut String) {
    let mut roots: Vec<Root> = Vec::new();
    for line in body.iter().filter(|line| line.contains("@llvm.gcroot(")) {
        let arguments = line.split_once("@llvm.gcroot(").map_or("", |(_, rest)| rest);
        let mut arguments = arguments.split([',', ')']).map(last_word);
        let (Some(alloca), Some(how)) = (arguments.next(), arguments.next()) else { continue };
        if roots.iter().all(|root| root.alloca != alloca) {
            roots.push(Root { alloca, how, is_private: true });
        }
    }
    for root in &mut roots {
        root.is_private = body.iter().all(|line| {
            let is_about_roots = line.contains("@llvm.gcroot(") || line.contains("@llvm.lifetime.");
            !mentions(line, root.alloca) || root.is_access(line) || is_about_roots || root.is_alloca(line)
        });
    }
    let mut declared: Vec<&str> = Vec::new();
    // Calls among the allocas would end LLVM's search for roots that are null already.
    let mut made: Vec<&Root> = Vec::new();
    for line in body {
        let of_root = |root: &&Root| mentions(line, root.alloca);
        if line.contains("@llvm.lifetime.") && roots.iter().any(|root| of_root(&root)) {
            continue;
        }
        let is_simple =
            line.contains(" = alloca ") || line.trim_start().starts_with("store ") || line.trim().is_empty();
        if !is_simple {
            made.drain(..).for_each(|root| told(done, "wrote", root));
        }
        let root = roots.iter().find(of_root);
        if let Some(root) = root
            && line.contains("@llvm.gcroot(")
        {
            if declared.contains(&root.alloca) {
                continue;
            }
            declared.push(root.alloca);
        }
        push(done, line);
        let Some(root) = root else { continue };
        if root.is_alloca(line) {
            let of = line.split_once(" = alloca ").map_or("", |(_, of)| type_of(of));
            push(done, &format!("  store {of} zeroinitializer, ptr {}", root.alloca));
            made.push(root);
        } else if root.is_private && root.is_load(line) {
            told(done, "read", root);
        } else if root.is_private && root.is_store(line) && made.iter().all(|made| made.alloca != root.alloca) {
            told(done, "wrote", root);
        }
    }
}

fn told(done: &mut String, what: &str, root: &Root) {
    let Root { alloca, how, is_private } = root;
    match what {
        _ if !is_private => {}
        "read" => push(done, &format!("  call void @witness_read(ptr {alloca}, ptr {how})")),
        _ => push(done, &format!("  call void @witness_wrote(ptr {alloca})")),
    }
}

impl Root<'_> {
    fn is_alloca(&self, line: &str) -> bool {
        line.trim_start().strip_prefix(self.alloca).is_some_and(|rest| rest.starts_with(" = alloca "))
    }

    fn is_load(&self, line: &str) -> bool {
        line.contains(" = load ") && !line.contains(" = load volatile ") && self.is_address_in(line)
    }

    /// Its address stored somewhere is no store to it.
    fn is_store(&self, line: &str) -> bool {
        let line = line.trim_start();
        line.starts_with("store ")
            && self.is_address_in(line)
            && line.split(',').next().is_some_and(|value| !mentions(value, self.alloca))
    }

    fn is_access(&self, line: &str) -> bool {
        self.is_load(line) || self.is_store(line)
    }

    fn is_address_in(&self, line: &str) -> bool {
        line.split(',')
            .any(|part| part.trim().strip_prefix("ptr ").is_some_and(|address| address.trim() == self.alloca))
    }
}

/// `ptr noundef %x` is about `%x`.
fn last_word(argument: &str) -> &str {
    argument.split_whitespace().last().unwrap_or("")
}

/// Whether a name is in a line, and not as the beginning of a longer one.
fn mentions(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(place, _)| {
        !line[place + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || "._$-\"".contains(next))
    })
}

/// The type that an alloca names: up to the first comma outside of brackets.
fn type_of(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|letter| {
        match letter {
            '{' | '[' | '<' | '(' => depth += 1,
            '}' | ']' | '>' | ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    text[..end.unwrap_or(text.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::for_shadow_stack;

    #[test]
    fn roots_are_null_at_once_and_reads_and_writes_of_them_are_told() {
        let text = "define ptr @f(ptr %p)\n    gc \"refcount\" {\n  %a = alloca { i64, ptr }, align 8\n  %b = alloca ptr\n  \
            store ptr %p, ptr %b\n  call void @llvm.gcroot(ptr %a, ptr @how)\n  call void @llvm.gcroot(ptr %b, ptr null)\n  \
            call void @llvm.lifetime.start(ptr %b)\n  call void @llvm.gcroot(ptr %b, ptr null)\n  %bc = load ptr, ptr %b, align 8\n  \
            call void @use(ptr %a)\n  store i64 1, ptr %a\n  store ptr %bc, ptr %b\n  %o = call ptr @tally_new(ptr @t)\n  ret ptr %o\n}\n";
        let expected = "define ptr @f(ptr %p)\n    gc \"shadow-stack\" {\n  %a = alloca { i64, ptr }, align 8\n  \
            store { i64, ptr } zeroinitializer, ptr %a\n  %b = alloca ptr\n  store ptr zeroinitializer, ptr %b\n  \
            store ptr %p, ptr %b\n  call void @witness_wrote(ptr %b)\n  call void @llvm.gcroot(ptr %a, ptr @how)\n  \
            call void @llvm.gcroot(ptr %b, ptr null)\n  %bc = load ptr, ptr %b, align 8\n  call void @witness_read(ptr %b, ptr null)\n  \
            call void @use(ptr %a)\n  store i64 1, ptr %a\n  store ptr %bc, ptr %b\n  call void @witness_wrote(ptr %b)\n  \
            %o = call ptr @witness_new(ptr @t)\n  ret ptr %o\n}\n";
        let done = for_shadow_stack(text);
        assert_eq!(done.split_once("declare").expect("the witness").0, expected);
    }
}
