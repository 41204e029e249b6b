//! What each path may cost, and who said why: benches/approved.txt.
//!
//! A count that is more than one in a hundred above the approved one fails. One that has become smaller does not, but
//! stays a licence to grow back until it is approved, so the table points it out. A figure that has hardly changed
//! keeps its line, so that a path cannot creep upwards by many small steps, each of them approved along with something
//! else.

use crate::failure::Failure;
use std::fmt;

/// How much a count may be off, in a hundred.
const TOLERANCE: u64 = 1;

const HEAD: &str = "\
# Instructions that callgrind counted for each path of paths.txt, and why it is that many. A count that grows by more than one in a
# hundred fails `cargo xtask bench counts`; `--approve \"why\"` writes new figures, each with the sentence.
#
#  counted   path                              why
";

/// A path that is counted: a line of benches/paths.txt.
#[derive(Debug, Clone)]
pub struct Path {
    /// `family/operation`.
    pub name: String,
    /// How often the operation is done.
    times: u64,
    /// The path whose count is taken off to get the operation's.
    without: Option<String>,
    /// What callgrind counted.
    pub counted: u64,
}

/// The approved counts, in the order of their file.
#[derive(Debug, Default)]
pub struct Approved {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: String,
    count: u64,
    why: String,
}

/// The lines of benches/paths.txt; nothing is counted yet.
pub fn read_paths(text: &str) -> Result<Vec<Path>, Failure> {
    let mut paths: Vec<Path> = Vec::new();
    for line in text.lines().filter_map(|line| line.split('#').next()).filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (name, times) = (words.next(), words.next().and_then(|word| word.parse().ok()));
        let (Some(name), Some(times)) = (name, times) else {
            return Err(Failure::step(format!(
                "paths.txt: `{line}` is not a path and how often it does its operation"
            )));
        };
        paths.push(Path { name: name.to_owned(), times, without: words.next().map(str::to_owned), counted: 0 });
    }
    Ok(paths)
}

/// A reason is a sentence.
pub fn check_reason(why: &str) -> Result<(), Failure> {
    if why.split_whitespace().count() >= 3 && !why.contains('\n') {
        return Ok(());
    }
    Err(Failure::unprepared(format!("--approve {why:?}: say in a sentence why the counts are what they are now")))
}

/// A row for each path: what its operation costs, and how that compares with what was approved.
pub fn table(paths: &[Path], approved: &Approved) -> Result<String, Failure> {
    let mut text =
        format!("{:<32}{:>13}{:>12}{:>10}   over and above\n", "path", "instructions", "counted", "approved");
    for path in paths {
        let without = path.without.as_deref();
        let base = match without {
            None => 0,
            Some(name) => {
                let other = paths.iter().find(|other| other.name == name);
                other
                    .ok_or_else(|| {
                        Failure::step(format!("paths.txt: {} is without {name}, which it does not list", path.name))
                    })?
                    .counted
            }
        };
        let each = (path.counted as f64 - base as f64) / path.times as f64;
        if path.counted == 0 || path.times > 1 && without.is_some() && each < 0.5 {
            return Err(Failure::step(format!(
                "{} costs {each:.1} instructions over and above {}: something else was counted",
                path.name,
                without.unwrap_or("nothing")
            )));
        }
        let change = match approved.change(path) {
            None => "new".to_owned(),
            Some(change) if change.abs() < 0.0005 => "=".to_owned(),
            Some(change) => format!("{:+.1} %", change * 100.0),
        };
        let row = format!("{:<32}{each:>13.1}{:>12}{change:>10}   {}", path.name, path.counted, without.unwrap_or(""));
        text += row.trim_end();
        text += "\n";
    }
    let has_fallen = |path: &&Path| approved.line(path).is_some_and(|line| has_grown(line.count, path.counted));
    let fallen = paths.iter().filter(has_fallen).count();
    if fallen > 0 {
        text += &format!("{fallen} became cheaper: approve them, or they may grow back unseen\n");
    }
    Ok(text)
}

impl Approved {
    /// Reads the file.
    pub fn read(text: &str) -> Result<Approved, Failure> {
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let (count, name) = (words.next().and_then(|word| word.parse().ok()), words.next());
            let why = words.collect::<Vec<_>>().join(" ");
            let (Some(count), Some(name), false) = (count, name, why.is_empty()) else {
                return Err(Failure::step(format!("approved.txt: `{line}` is not a count, a path, and why")));
            };
            lines.push(Line { name: name.to_owned(), count, why });
        }
        Ok(Approved { lines })
    }

    /// The paths that have a count.
    #[cfg(test)]
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| line.name.as_str())
    }

    /// A complaint about each path that costs too much, or has no approved count.
    pub fn grown(&self, paths: &[Path]) -> Vec<String> {
        let complaint = |path: &Path| match self.line(path) {
            None => Some(format!("{}: {} instructions, and none approved", path.name, path.counted)),
            Some(line) => {
                let (name, counted, count) = (&path.name, path.counted, line.count);
                let text = || {
                    format!(
                        "{name}: {counted} instructions, {count} approved: {:+.1} %",
                        change(counted, count) * 100.0
                    )
                };
                has_grown(counted, count).then(text)
            }
        };
        paths.iter().filter_map(complaint).collect()
    }

    /// Takes over what was counted where that has changed, in the order of the paths, and says how many have. Lines of
    /// paths that are not there are left out, unless only some of the paths were counted.
    pub fn approve(&mut self, paths: &[Path], why: &str, some_only: bool) -> usize {
        let mut changed = 0;
        let mut lines = Vec::new();
        for path in paths {
            let old = self.lines.iter().position(|line| line.name == path.name).map(|place| self.lines.remove(place));
            let is_same = |line: &Line| !has_grown(path.counted, line.count) && !has_grown(line.count, path.counted);
            lines.push(old.filter(is_same).unwrap_or_else(|| {
                changed += 1;
                Line { name: path.name.clone(), count: path.counted, why: why.to_owned() }
            }));
        }
        if some_only {
            lines.append(&mut self.lines);
        }
        self.lines = lines;
        changed
    }

    fn line(&self, path: &Path) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == path.name)
    }

    /// By how much a count has grown, as a fraction.
    fn change(&self, path: &Path) -> Option<f64> {
        Some(change(path.counted, self.line(path)?.count))
    }
}

/// Whether a count is more than it may be. The other way round, whether the approved one is more than needed.
fn has_grown(counted: u64, approved: u64) -> bool {
    counted * 100 > approved * (100 + TOLERANCE)
}

fn change(counted: u64, approved: u64) -> f64 {
    counted as f64 / approved as f64 - 1.0
}

impl fmt::Display for Approved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HEAD)?;
        for line in &self.lines {
            writeln!(formatter, "{:>10}   {:<32}  {}", line.count, line.name, line.why)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Approved, Path, check_reason, read_paths, table};

    fn paths(counts: [u64; 2]) -> Vec<Path> {
        let text = "# path times without\np/loop 1000\n\np/increment 1000 p/loop # an object\n";
        let mut paths = read_paths(text).expect("the lines are right");
        for (path, count) in paths.iter_mut().zip(counts) {
            path.counted = count;
        }
        paths
    }

    fn approved() -> Approved {
        Approved::read("# head\n 5000 p/loop it was so\n16000 p/increment a load, a store\n")
            .expect("the lines are right")
    }

    #[test]
    fn operation_costs_what_is_over_and_above_the_loop_without_it() {
        let text = table(&paths([5006, 16_006]), &approved()).expect("both were counted");
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["p/loop", "5.0", "5006", "+0.1", "%"]);
        assert_eq!(rows[1], ["p/increment", "11.0", "16006", "=", "p/loop"]);
    }

    #[test]
    fn operation_that_costs_nothing_was_not_counted() {
        let failure = table(&paths([5006, 5006]), &approved()).expect_err("the increment was not there").to_string();
        assert!(failure.contains("p/increment costs 0.0 instructions over and above p/loop"), "{failure}");
    }

    #[test]
    fn growth_by_more_than_one_in_a_hundred_is_named_and_shrinking_is_not() {
        assert_eq!(approved().grown(&paths([5050, 12_000])), [""; 0]);
        let grown = approved().grown(&paths([5051, 16_000]));
        assert_eq!(grown, ["p/loop: 5051 instructions, 5000 approved: +1.0 %"]);
        assert!(table(&paths([5000, 12_000]), &approved()).is_ok_and(|text| text.contains("1 became cheaper")));
    }

    #[test]
    fn path_without_an_approved_count_is_named() {
        let grown = Approved::default().grown(&paths([5000, 16_000]));
        assert_eq!(grown[0], "p/loop: 5000 instructions, and none approved");
    }

    #[test]
    fn approving_changes_the_lines_of_what_changed_and_keeps_the_others_reasons() {
        let mut approved = approved();
        assert_eq!(approved.approve(&paths([5040, 18_000]), "counts two references now", false), 1);
        let text = approved.to_string();
        assert!(text.contains("5000   p/loop") && text.contains("it was so"), "{text}");
        assert!(text.contains("18000   p/increment") && text.contains("counts two references now"), "{text}");
        let again = Approved::read(&text).expect("what was written can be read").to_string();
        assert_eq!(again, text);
    }

    #[test]
    fn path_that_is_not_counted_any_more_loses_its_line_unless_only_some_were_counted() {
        let one = &paths([5000, 16_000])[..1];
        let (mut all, mut some) = (approved(), approved());
        all.approve(one, "only a loop is left", false);
        some.approve(one, "only a loop was counted", true);
        assert_eq!((all.names().count(), some.names().count()), (1, 2));
    }

    #[test]
    fn reason_is_a_sentence() {
        assert!(check_reason("an increment asks for the size").is_ok());
        assert!(check_reason("").is_err() && check_reason("slower").is_err());
    }

    #[test]
    fn approved_line_without_a_reason_is_refused() {
        assert!(Approved::read("5000 p/loop\n").is_err());
    }
}
