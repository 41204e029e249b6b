//! Allocation sites among the statistics at exit: a line for each site and type, or an array in the JSON. Nothing where none are recorded.

use std::fmt::Write;
use tally_heap::Heap;
use tally_heap::services::alloc_site::{CodePlace, SiteTotals, text_of_site};

/// Lines of the table, at most: those with the most live bytes, then with the most allocated ones.
const LINES: usize = 20;

/// The sites of a heap at its end.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    totals: Vec<SiteTotals>,
    are_estimates: bool,
    are_recorded: bool,
}

impl Sites {
    pub(crate) fn of(heap: &Heap) -> Sites {
        Sites {
            totals: heap.alloc_sites(),
            are_estimates: heap.estimates_alloc_sites(),
            are_recorded: heap.records_alloc_sites(),
        }
    }

    /// Lines of the table.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        let how = if self.are_estimates { " (estimates, from a sample)" } else { "" };
        for row in self.totals.iter().take(LINES) {
            _ = writeln!(
                text,
                "tally: alloc site {}: {}, {} live objects, {} live bytes, {} allocated bytes{how}",
                text_of_site(&row.site),
                row.type_name,
                row.live_objects,
                row.live_bytes,
                row.allocated_bytes
            );
        }
        if self.totals.len() > LINES {
            _ = writeln!(text, "tally: alloc site and {} more", self.totals.len() - LINES);
        }
        text
    }

    /// The entry of the JSON, if sites are recorded.
    pub(super) fn json(&self) -> Option<String> {
        let rows: Vec<String> = self.totals.iter().map(row).collect();
        self.are_recorded.then(|| format!("  \"alloc_sites\": [{}]", rows.join(", ")))
    }
}

fn row(row: &SiteTotals) -> String {
    let places: Vec<String> = row.site.iter().map(place).collect();
    format!(
        "{{\"places\": [{}], \"type\": {}, \"live_objects\": {}, \"live_bytes\": {}, \"allocated_objects\": {}, \"allocated_bytes\": {}}}",
        places.join(", "),
        quoted(&row.type_name),
        row.live_objects,
        row.live_bytes,
        row.allocated_objects,
        row.allocated_bytes
    )
}

fn place(place: &CodePlace) -> String {
    let (function, file) = (quoted(&place.function), quoted(&place.file));
    format!("{{\"function\": {function}, \"file\": {file}, \"line\": {}}}", place.line)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => _ = write!(quoted, "\\u{:04x}", control as u32),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_are_quoted_as_json_wants_it() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    }
}
