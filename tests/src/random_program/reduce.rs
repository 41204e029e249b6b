//! Makes a failing program short: removes lines and blocks while it still fails in the same way.
//!
//! The generator writes a statement as one line or as a block whose first line ends in `{` and whose last begins with
//! `}`, so a run of lines with balanced braces can go. A line that declares a root goes only with its block: without
//! it a program would be wrong, and fail for that reason. Chunks are tried from large to small until no more can be
//! removed.

/// The shortest text found for which `fails` still returns true; `text` itself must fail.
pub fn reduce(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The prelude stays: it is the same everywhere, and unused parts of it do no harm.
    let first = lines.iter().position(|line| line.starts_with("SHARED Any *first")).map_or(0, |at| at + 1);
    loop {
        let before = lines.len();
        let mut length = (lines.len() - first).next_power_of_two();
        while length > 0 {
            let mut at = first;
            while at < lines.len() {
                let end = balanced_end(&lines, at, length);
                if end > at && may_go(&lines[at..end]) {
                    let mut fewer = lines.clone();
                    fewer.drain(at..end);
                    if fails(&joined(&fewer)) {
                        lines = fewer;
                        continue;
                    }
                }
                at += 1.max(length / 2);
            }
            length /= 2;
        }
        if lines.len() == before {
            return joined(&lines);
        }
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The end of the longest run of at most `length` lines (or of one block) from `at` on whose braces balance; `at` if
/// none.
fn balanced_end(lines: &[String], at: usize, length: usize) -> usize {
    let (mut open, mut end) = (0i32, at);
    for (number, line) in lines.iter().enumerate().skip(at) {
        for letter in line.chars() {
            match letter {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            if open < 0 {
                return end;
            }
        }
        if open == 0 {
            end = number + 1;
            if end - at >= length {
                return end;
            }
        }
    }
    end
}

fn may_go(lines: &[String]) -> bool {
    let one_statement = lines.len() == 1;
    !(one_statement && lines[0].contains("TALLY_ROOT") && !lines[0].contains("= NULL"))
}

#[cfg(test)]
mod tests {
    use super::reduce;

    #[test]
    fn what_matters_stays_and_braces_balance() {
        let text = "SHARED Any *first;\nint f() {\n    a;\n    if (x) {\n        bad;\n        b;\n    }\n    c;\n}\nint g() {\n}\n";
        let short = reduce(text, |text| text.contains("bad") && text.contains("int f"));
        assert_eq!(short, "SHARED Any *first;\nint f() {\n    if (x) {\n        bad;\n    }\n}\n");
    }
}
