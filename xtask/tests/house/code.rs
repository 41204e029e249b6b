//! The code of a Rust file: without comments, without what its literals hold, and without its unit tests. Lines stay where they are.

/// `text` with every comment, the inside of every literal and every module `#[cfg(test)] mod … { }` taken out.
pub fn of(text: &str) -> String {
    without_tests(&plain(text))
}

/// Where the bracket that opens at `open` is closed, or the end of the text.
pub fn end_of_block(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in code[open..].char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    code.len()
}

fn plain(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let skipped = skipped(rest, code.chars().next_back());
        if skipped == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        code.extend(rest[..skipped].chars().filter(|&letter| letter == '\n'));
        rest = &rest[skipped..];
    }
    code
}

/// Bytes of the comment or literal that `rest` begins with; 0: it begins with neither.
fn skipped(rest: &str, before: Option<char>) -> usize {
    let up_to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return up_to("*/", 2);
    }
    let in_a_word = before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    if rest.starts_with('r') && !in_a_word {
        let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
        if rest[1 + hashes..].starts_with('"') {
            return up_to(&format!("\"{}", "#".repeat(hashes)), 2 + hashes);
        }
    }
    if rest.starts_with('"') {
        return end_of_literal(rest, '"');
    }
    // Of a lifetime no quote follows.
    let is_letter = rest.starts_with('\'') && (rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\''));
    if is_letter { end_of_literal(rest, '\'') } else { 0 }
}

fn end_of_literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn without_tests(code: &str) -> String {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let mut left = code.to_owned();
    while let Some(start) = left.find(TESTS) {
        let Some(open) = left[start..].find(['{', ';']).map(|at| start + at) else { break };
        let end = if left[open..].starts_with('{') { end_of_block(&left, open) + 1 } else { open + 1 };
        let lines = "\n".repeat(left[start..end].matches('\n').count());
        left.replace_range(start..end, &lines);
    }
    left
}

#[test]
fn comments_literals_and_tests_are_taken_out() {
    let text = "a /* b */ \"c // d\" // e\nr#\"f\"# '\\'' 'g' &'h i\n#[cfg(test)]\nmod tests {\n    j\n}\nk";
    assert_eq!(of(text), "a   \n   &'h i\n\n\n\n\nk");
}
