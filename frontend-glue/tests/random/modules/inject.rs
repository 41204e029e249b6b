//! Roots, barriers and calls put into a module of llvm-stress, so that it can be run and its result is known.
//!
//! What llvm-stress writes cannot be run: it reads what was never written, and branches on it. So its code stays in the
//! function, shapes its frame (vectors, over-aligned slots, spills) and is compiled with roots live through it, but is
//! entered only if a volatile flag is set, which never happens:
//!
//! ```text
//!   entry:    roots; a random program of ours over them, with calls that run epochs; its sum
//!             br (volatile flag), BB, exit
//!   BB: …     the code of llvm-stress, with more calls, root stores and gcwrites between its instructions
//!   exit:     what the roots still reach is summed once more; returned
//! ```
//!
//! The program's graph is kept here, too, and gives the sum that every run must print.

use std::fmt::Write;
use tally_kit::dice::Dice;

/// A program and what it must print.
#[derive(Debug)]
pub struct Program {
    pub text: String,
    pub sum: i64,
}

/// How far sums go into the graph, which may be cyclic.
const DEPTH: usize = 4;

/// The types and helpers of every program: `@sum` rooted and recursive, `@churn` makes garbage, `@wide` returns more than
/// registers hold.
const SUPPORT: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@tally.name = private constant [5 x i8] c"Node\00"
@tally.refs = private constant [2 x i32] [i32 0, i32 8]
@tally.word = private constant [1 x i32] zeroinitializer
@Node = private constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @tally.refs, i64 0, i64 0, ptr null, ptr @tally.name, ptr null, ptr null, ptr null, ptr null }
@Word = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @tally.word, i64 0, i64 0, ptr null, ptr @tally.name, ptr null, ptr null, ptr null, ptr null }
@tally.never = internal global i8 0
@tally.global = internal global ptr null
@tally.format = private constant [6 x i8] c"%lld\0A\00"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_safepoint()
declare void @tally_collect()
declare i32 @printf(ptr, ...)
define i64 @tally.sum(ptr %node, i64 %depth) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %node, ptr %root
  %none = icmp eq ptr %node, null
  %deep = icmp eq i64 %depth, 0
  %stop = or i1 %none, %deep
  br i1 %stop, label %zero, label %walk
zero:
  ret i64 0
walk:
  call void @tally_safepoint()
  %less = sub i64 %depth, 1
  %left = load ptr, ptr %node
  %a = call i64 @tally.sum(ptr %left, i64 %less)
  %again = load ptr, ptr %root
  %field = getelementptr i8, ptr %again, i64 8
  %right = load ptr, ptr %field
  %b = call i64 @tally.sum(ptr %right, i64 %less)
  %last = load ptr, ptr %root
  %value.at = getelementptr i8, ptr %last, i64 16
  %value = load i64, ptr %value.at
  %ab = add i64 %a, %b
  %abv = add i64 %ab, %value
  ret i64 %abv
}
define void @tally.churn(i64 %n) noinline gc "refcount" {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %garbage = call ptr @tally_new(ptr @Node)
  call void @llvm.gcwrite(ptr %garbage, ptr %garbage, ptr %garbage)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define { i64, i64, i64, i64 } @tally.wide(i64 %n) noinline gc "refcount" {
  call void @tally.churn(i64 %n)
  %a = insertvalue { i64, i64, i64, i64 } { i64 1, i64 2, i64 3, i64 4 }, i64 %n, 3
  ret { i64, i64, i64, i64 } %a
}
define i32 @main() gc "refcount" {
  %buffer = alloca [512 x i8], align 64
  %sum = call i64 @tally.stressed(ptr %buffer, ptr %buffer, ptr %buffer, i32 1, i64 2, i8 3)
  %printed = call i32 (ptr, ...) @printf(ptr @tally.format, i64 %sum)
  ret i32 0
}
"#;

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    fields: [Option<usize>; 2],
    value: i64,
}

/// The program of our own at the function's entry, written down and acted out at once.
#[derive(Debug)]
struct Author<'a> {
    dice: &'a mut Dice,
    text: String,
    names: usize,
    /// The objects so far.
    nodes: Vec<Node>,
    /// What each root holds.
    roots: Vec<Option<usize>>,
    global: Option<usize>,
    sum: i64,
}

impl Author<'_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("%tally.{}", self.names)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "  {line}").expect("strings take all");
    }

    fn load(&mut self, root: usize) -> String {
        let name = self.name();
        self.line(&format!("{name} = load ptr, ptr %tally.root{root}"));
        name
    }

    /// Adds what `root` reaches to the sum; `total` is the name of the sum so far.
    fn add(&mut self, root: usize, total: String) -> String {
        let (node, part, next) = (self.load(root), self.name(), self.name());
        self.line(&format!("{part} = call i64 @tally.sum(ptr {node}, i64 {DEPTH})"));
        self.line(&format!("{next} = add i64 {total}, {part}"));
        self.sum += self.reach(self.roots[root], DEPTH);
        next
    }

    fn reach(&self, node: Option<usize>, depth: usize) -> i64 {
        let Some(node) = node.filter(|_| depth > 0).map(|node| self.nodes[node]) else { return 0 };
        node.value + self.reach(node.fields[0], depth - 1) + self.reach(node.fields[1], depth - 1)
    }

    fn statement(&mut self, total: String) -> String {
        let (root, other) = (self.dice.below(self.roots.len()), self.dice.below(self.roots.len()));
        match self.dice.below(9) {
            0..=2 => {
                let (object, place, value) = (self.name(), self.name(), self.dice.below(1000) as i64);
                self.line(&format!("{object} = call ptr @tally_new(ptr @Node)"));
                self.line(&format!("{place} = getelementptr i8, ptr {object}, i64 16"));
                self.line(&format!("store i64 {value}, ptr {place}"));
                self.line(&format!("store ptr {object}, ptr %tally.root{root}"));
                self.nodes.push(Node { value, ..Node::default() });
                self.roots[root] = Some(self.nodes.len() - 1);
            }
            3 | 4 => {
                let Some(object) = self.roots[root] else { return total };
                let (to, from, slot, field) = (self.load(root), self.load(other), self.name(), self.dice.below(2));
                self.line(&format!("{slot} = getelementptr i8, ptr {to}, i64 {}", field * 8));
                self.line(&format!("call void @llvm.gcwrite(ptr {from}, ptr {to}, ptr {slot})"));
                self.nodes[object].fields[field] = self.roots[other];
            }
            5 => {
                let from = self.load(root);
                self.line(&format!("call void @llvm.gcwrite(ptr {from}, ptr @tally.global, ptr @tally.global)"));
                self.global = self.roots[root];
                self.line(&format!("store ptr null, ptr %tally.root{root}"));
                self.roots[root] = None;
            }
            6 => {
                let from = self.name();
                self.line(&format!("{from} = load ptr, ptr @tally.global"));
                self.line(&format!("store ptr {from}, ptr %tally.root{root}"));
                self.roots[root] = self.global;
            }
            7 => {
                let (count, wide, last, next) = (self.dice.below(60), self.name(), self.name(), self.name());
                self.line(&format!("{wide} = call {{ i64, i64, i64, i64 }} @tally.wide(i64 {})", count + 1));
                self.line(&format!("{last} = extractvalue {{ i64, i64, i64, i64 }} {wide}, 3"));
                self.line(&format!("{next} = add i64 {total}, {last}"));
                self.sum += count as i64 + 1;
                return next;
            }
            _ => {
                self.line("call void @tally_collect()");
                return self.add(root, total);
            }
        }
        total
    }
}

/// Makes a program of the module that llvm-stress wrote.
pub fn inject(stress: &str, dice: &mut Dice) -> Program {
    let roots = 1 + dice.below(5);
    let mut author =
        Author { dice, text: String::new(), names: 0, nodes: vec![], roots: vec![None; roots], global: None, sum: 0 };
    for root in 0..roots {
        // Some roots are integers with a descriptor, which is the same word read another way.
        let (of, how) = if author.dice.below(4) == 0 { ("i64", "@Word") } else { ("ptr", "null") };
        author.line(&format!("%tally.root{root} = alloca {of}"));
        author.line(&format!("call void @llvm.gcroot(ptr %tally.root{root}, ptr {how})"));
    }
    let mut total = "0".to_owned();
    for _ in 0..4 + author.dice.below(24) {
        total = author.statement(total);
    }
    author.line("%tally.flag = load volatile i8, ptr @tally.never");
    author.line("%tally.take = icmp ne i8 %tally.flag, 0");
    author.line("br i1 %tally.take, label %BB, label %tally.exit");
    let entry = std::mem::take(&mut author.text);
    for root in 0..roots {
        total = author.add(root, total);
    }
    author.line(&format!("ret i64 {total}"));
    let Author { text: exit, dice, sum, mut names, .. } = author;
    let mut text = String::new();
    let mut inside = false;
    let lines: Vec<&str> = stress.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("define ") {
            inside = true;
            let parameters = &line[line.find('(').expect("parameters")..=line.rfind(')').expect("parameters")];
            writeln!(text, "define i64 @tally.stressed{parameters} noinline gc \"refcount\" {{\ntally.entry:\n{entry}")
                .expect("strings take all");
        } else if inside && *line == "}" {
            inside = false;
            writeln!(text, "tally.exit:\n{exit}}}").expect("strings take all");
        } else if inside && line.trim() == "ret void" {
            text.push_str("  ret i64 0\n");
        } else {
            text.push_str(line);
            text.push('\n');
            let next = lines.get(number + 1).copied().unwrap_or_default();
            let between = line.starts_with("  %") && next.starts_with("  ") && !next.contains(" = phi ");
            if inside && between && dice.below(5) == 0 {
                names += 1;
                text.push_str(&disturbance(dice, names, roots));
            }
        }
    }
    Program { text: text + SUPPORT, sum }
}

/// Something of ours between two instructions of llvm-stress.
fn disturbance(dice: &mut Dice, number: usize, roots: usize) -> String {
    let (one, other) = (dice.below(roots), dice.below(roots));
    let n = format!("%tally.{number}");
    match dice.below(6) {
        0 => "  call void @tally_safepoint()\n".to_owned(),
        1 => format!("  {n} = call ptr @tally_new(ptr @Node)\n  store ptr {n}, ptr %tally.root{one}\n"),
        2 => format!(
            "  {n} = load ptr, ptr %tally.root{one}\n  {n}.v = load ptr, ptr %tally.root{other}\n  \
             call void @llvm.gcwrite(ptr {n}.v, ptr {n}, ptr {n})\n"
        ),
        3 => format!("  {n} = call {{ i64, i64, i64, i64 }} @tally.wide(i64 {one})\n"),
        4 => format!("  store ptr null, ptr %tally.root{one}\n"),
        _ => format!("  {n} = load ptr, ptr %tally.root{one}\n  {n}.s = call i64 @tally.sum(ptr {n}, i64 2)\n"),
    }
}
