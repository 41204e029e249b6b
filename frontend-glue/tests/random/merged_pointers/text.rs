//! Programs as IR: each a function of its own, and a `main` that calls it with every argument and prints its sums.

use crate::merged_pointers::program::{BITS, Cast, Name, Op, ROOTS, Stop, VARIABLES};
use std::fmt::Write;

const SUPPORT: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@type.name = private constant [5 x i8] c"Node\00"
@type.refs = private constant [1 x i32] [i32 24]
@Node = private constant %tally_type { i32 1, i32 0, i64 BYTES, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @type.refs, i64 0, i64 0, ptr null, ptr @type.name, ptr null, ptr null, ptr null, ptr null }
@sum = internal global i64 0
@format = private constant [16 x i8] c"%lld %lld %llu\0A\00"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare REF @llvm.launder.invariant.group.SPACE(REF)
declare REF @tally_new(ptr)
declare void @tally_safepoint()
declare void @tally_collect()
declare i32 @printf(ptr, ...) "gc-leaf-function"
define internal void @note(i64 %number) noinline "gc-leaf-function" {
  %old = load i64, ptr @sum
  %more = mul i64 %old, 31
  %new = add i64 %more, %number
  store i64 %new, ptr @sum
  ret void
}
define internal REF @same(REF returned %p) noinline "gc-leaf-function" {
  ret REF %p
}
define internal REF @node(i64 %number) gc "refcount" {
  %o = call REF @tally_new(ptr @Node)
  %first = mul i64 %number, 10
  %second = add i64 %first, 1
  %third = add i64 %first, 2
  %second.at = getelementptr i8, REF %o, i64 8
  %third.at = getelementptr i8, REF %o, i64 16
  store i64 %first, REF %o
  store i64 %second, REF %second.at
  store i64 %third, REF %third.at
  ret REF %o
}
define internal void @churn() noinline gc "refcount" {
  call void @tally_collect()
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %garbage = call REF @node(i64 990)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, GARBAGE
  br i1 %more, label %loop, label %done
done:
  ret void
}
define internal void @managed(REF %o) noinline gc "refcount" {
ROOT  call void @churn()
  %at = getelementptr i8, REF %o, i64 8
  %x = load i64, REF %at
  call void @note(i64 %x)
  ret void
}
define internal void @plain(REF %o) noinline {
  call void @churn()
  %at = getelementptr i8, REF %o, i64 8
  %x = load i64, REF %at
  call void @note(i64 %x)
  ret void
}
define internal void @try(ptr %program, i64 %number, i64 %argument) noinline gc "refcount" {
  store i64 0, ptr @sum
  call void %program(i64 %argument)
  %sum = load i64, ptr @sum
  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 %number, i64 %argument, i64 %sum)
  ret void
}
"#;

/// How large objects are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As small as may be, and few: for zeal, which remembers all of them and uses no memory again.
    Small,
    /// Larger than a line of a block: the memory of one that died too early is used again, though its neighbours live.
    Line,
}

/// Where a program's roots come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rooting {
    /// They are written.
    Written,
    /// None are: references are of their own type.
    Typed,
    /// None are, and references are pointers as any others.
    Auto,
}

impl Rooting {
    /// The type of references.
    fn reference(self) -> &'static str {
        if self == Rooting::Typed { "ptr addrspace(1)" } else { "ptr" }
    }
}

/// What is in `@managed` where roots are written.
const ROOT: &str = "  %root = alloca ptr\n  call void @llvm.gcroot(ptr %root, ptr null)\n  store ptr %o, ptr %root\n";

/// A module of programs, by their numbers.
pub fn module(programs: &[(u64, &[Op])], size: Size, rooting: Rooting) -> String {
    let returned = if rooting == Rooting::Written { "" } else { " returned" };
    let mut text = SUPPORT
        .replace("BYTES", if size == Size::Small { "32" } else { "504" })
        .replace("GARBAGE", if size == Size::Small { "2" } else { "12" })
        .replace("SPACE", if rooting == Rooting::Typed { "p1" } else { "p0" })
        .replace("ROOT", if rooting == Rooting::Written { ROOT } else { "" })
        .replace(" returned", returned)
        .replace("REF", rooting.reference());
    for (number, program) in programs {
        text += &function(*number, program, rooting);
    }
    text += "define i32 @main() gc \"refcount\" {\n";
    for (number, _) in programs {
        for argument in 0..1 << BITS {
            writeln!(text, "  call void @try(ptr @p{number}, i64 {number}, i64 {argument})").expect("strings take all");
        }
    }
    text + "  ret i32 0\n}\n"
}

fn function(number: u64, program: &[Op], rooting: Rooting) -> String {
    let mut writer = Writer { text: String::new(), labels: 0, temporaries: 0, block: "entry".to_owned(), rooting };
    let of = rooting.reference();
    writer.raw(&format!("define internal void @p{number}(i64 %bits) noinline gc \"refcount\" {{\nentry:"));
    for root in 0..ROOTS {
        writer.line(&format!("%r{root} = alloca {of}"));
    }
    for variable in 0..VARIABLES {
        writer.line(&format!("%local{variable} = alloca {of}"));
    }
    for root in 0..ROOTS {
        writer.line(&match rooting {
            Rooting::Written => format!("call void @llvm.gcroot(ptr %r{root}, ptr null)"),
            Rooting::Typed | Rooting::Auto => format!("store {of} null, ptr %r{root}"),
        });
    }
    for variable in 0..VARIABLES {
        writer.line(&format!("store {of} null, ptr %local{variable}"));
    }
    writer.all(program);
    writer.line("ret void");
    writer.raw("}");
    writer.text
}

struct Writer {
    text: String,
    labels: usize,
    temporaries: usize,
    /// The block that is being written.
    block: String,
    rooting: Rooting,
}

impl Writer {
    fn raw(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn line(&mut self, line: &str) {
        self.raw(&format!("  {line}"));
    }

    fn label(&mut self, what: &str) -> String {
        self.labels += 1;
        format!("{what}{}", self.labels)
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%t{}", self.temporaries)
    }

    fn begin(&mut self, block: &str) {
        self.raw(&format!("{block}:"));
        self.block = block.to_owned();
    }

    fn condition(&mut self, bit: usize) -> String {
        let (shifted, condition) = (self.temporary(), self.temporary());
        self.line(&format!("{shifted} = lshr i64 %bits, {bit}"));
        self.line(&format!("{condition} = trunc i64 {shifted} to i1"));
        condition
    }

    fn all(&mut self, ops: &[Op]) {
        ops.iter().for_each(|op| self.one(op));
    }

    fn one(&mut self, op: &Op) {
        let of = self.rooting.reference();
        match *op {
            Op::New { name, number } => self.line(&format!("%v{name} = call {of} @node(i64 {number})")),
            Op::Move { name, from, words } => {
                self.line(&format!("%v{name} = getelementptr i8, {of} %v{from}, i64 {}", words * 8));
            }
            Op::Cast { name, from, cast } => self.cast(name, from, cast),
            Op::Select { name, bit, yes, no } => {
                let condition = self.condition(bit);
                self.line(&format!("%v{name} = select i1 {condition}, {of} %v{yes}, {of} %v{no}"));
            }
            Op::SetRoot { root, from } => self.line(&format!("store {of} %v{from}, ptr %r{root}")),
            Op::ClearRoot { root } => self.line(&format!("store {of} null, ptr %r{root}")),
            Op::CopyToRoot { root, variable } if self.rooting == Rooting::Written => self.line(&format!(
                "call void @llvm.memcpy.p0.p0.i64(ptr %r{root}, ptr %local{variable}, i64 8, i1 false)"
            )),
            // A variable that is copied as memory would be a root, which holds no derived pointer.
            Op::CopyToRoot { root, variable } => {
                let content = self.temporary();
                self.line(&format!("{content} = load {of}, ptr %local{variable}"));
                self.line(&format!("store {of} {content}, ptr %r{root}"));
            }
            Op::GetRoot { name, root } => self.line(&format!("%v{name} = load {of}, ptr %r{root}")),
            Op::SetVariable { variable, from } => self.line(&format!("store {of} %v{from}, ptr %local{variable}")),
            Op::GetVariable { name, variable } => self.line(&format!("%v{name} = load {of}, ptr %local{variable}")),
            Op::Link { object, value } => {
                let slot = self.temporary();
                self.line(&format!("{slot} = getelementptr i8, {of} %v{object}, i64 24"));
                self.line(&match self.rooting {
                    Rooting::Typed => format!("store {of} %v{value}, {of} {slot}"),
                    _ => format!("call void @llvm.gcwrite(ptr %v{value}, ptr %v{object}, ptr {slot})"),
                });
            }
            Op::Null { name } => self.line(&format!("%v{name} = getelementptr i8, {of} null, i64 0")),
            Op::Follow { name, object } => {
                let slot = self.temporary();
                self.line(&format!("{slot} = getelementptr i8, {of} %v{object}, i64 24"));
                self.line(&format!("%v{name} = load {of}, {of} {slot}"));
            }
            Op::Stop(Stop::Collect) => self.line("call void @tally_collect()"),
            Op::Stop(Stop::Churn) => self.line("call void @churn()"),
            Op::Stop(Stop::Safepoint) => self.line("call void @tally_safepoint()"),
            Op::PassManaged { from } => self.line(&format!("call void @managed({of} %v{from})")),
            Op::PassPlain { from } => self.line(&format!("call void @plain({of} %v{from})")),
            Op::Use { from } => {
                let number = self.temporary();
                self.line(&format!("{number} = load i64, {of} %v{from}"));
                self.line(&format!("call void @note(i64 {number})"));
            }
            Op::Diamond { bit, ref yes, ref no, ref phis } => self.diamond(bit, yes, no, phis),
            Op::Loop { times, ref body, ref phis } => self.repeat(times, body, phis),
            Op::Nothing => {}
        }
    }

    fn cast(&mut self, name: Name, from: Name, cast: Cast) {
        let (one, other, third) = (self.temporary(), self.temporary(), self.temporary());
        let of = self.rooting.reference();
        match cast {
            Cast::Freeze => self.line(&format!("%v{name} = freeze {of} %v{from}")),
            Cast::Integer => {
                self.line(&format!("{one} = ptrtoint {of} %v{from} to i64"));
                self.line(&format!("{other} = xor i64 {one}, 5"));
                self.line(&format!("{third} = xor i64 {other}, 5"));
                self.line(&format!("%v{name} = inttoptr i64 {third} to {of}"));
            }
            Cast::Aggregate => {
                self.line(&format!("{one} = insertvalue {{ i64, {of} }} {{ i64 1, {of} null }}, {of} %v{from}, 1"));
                self.line(&format!("%v{name} = extractvalue {{ i64, {of} }} {one}, 1"));
            }
            // No roots are inferred for vectors.
            Cast::Vector if self.rooting != Rooting::Written => self.line(&format!("%v{name} = freeze {of} %v{from}")),
            Cast::Vector => {
                self.line(&format!("{one} = insertelement <2 x ptr> zeroinitializer, ptr %v{from}, i32 1"));
                self.line(&format!(
                    "{other} = shufflevector <2 x ptr> {one}, <2 x ptr> zeroinitializer, <2 x i32> <i32 1, i32 0>"
                ));
                self.line(&format!("%v{name} = extractelement <2 x ptr> {other}, i32 0"));
            }
            Cast::Leaf => self.line(&format!("%v{name} = call {of} @same({of} %v{from})")),
            Cast::Launder => {
                let space = if self.rooting == Rooting::Typed { "p1" } else { "p0" };
                self.line(&format!("%v{name} = call {of} @llvm.launder.invariant.group.{space}({of} %v{from})"));
            }
        }
    }

    fn diamond(&mut self, bit: usize, yes: &[Op], no: &[Op], phis: &[(Name, Name, Name)]) {
        let (condition, of) = (self.condition(bit), self.rooting.reference());
        let [one, other, join] = ["yes", "no", "join"].map(|what| self.label(what));
        self.line(&format!("br i1 {condition}, label %{one}, label %{other}"));
        let mut ends = Vec::new();
        for (label, arm) in [(&one, yes), (&other, no)] {
            self.begin(label);
            self.all(arm);
            self.line(&format!("br label %{join}"));
            ends.push(self.block.clone());
        }
        self.begin(&join);
        for (name, yes, no) in phis {
            self.line(&format!("%v{name} = phi {of} [ %v{yes}, %{} ], [ %v{no}, %{} ]", ends[0], ends[1]));
        }
    }

    fn repeat(&mut self, times: usize, body: &[Op], phis: &[(Name, Name, Name)]) {
        let [head, latch, done] = ["loop", "latch", "done"].map(|what| self.label(what));
        let (before, of) = (self.block.clone(), self.rooting.reference());
        self.line(&format!("br label %{head}"));
        self.begin(&head);
        for (name, first, again) in phis {
            self.line(&format!("%v{name} = phi {of} [ %v{first}, %{before} ], [ %v{again}, %{latch} ]"));
        }
        let (round, next, more) = (self.temporary(), self.temporary(), self.temporary());
        self.line(&format!("{round} = phi i64 [ 0, %{before} ], [ {next}, %{latch} ]"));
        self.all(body);
        self.line(&format!("br label %{latch}"));
        self.begin(&latch);
        self.line(&format!("{next} = add i64 {round}, 1"));
        self.line(&format!("{more} = icmp ult i64 {next}, {times}"));
        self.line(&format!("br i1 {more}, label %{head}, label %{done}"));
        self.begin(&done);
    }
}
