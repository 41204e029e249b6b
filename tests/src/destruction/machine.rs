//! Programs with destructors, run by the definition of the prompt plan.
//!
//! Counts, a list of those at zero, and recursion:
//!
//! ```text
//! drain:             for each object of the list that is still at zero, and not protected: reclaim(it)
//! reclaim(object):   its destructor; if its count rose meanwhile, it lives; else for each field, in order: release(field)
//! release(target):   count −= 1; at zero: reclaim(target), unless it is on the list already or protected
//! ```
//!
//! Every call drains before it, with its arguments protected; a return releases the locals, the last first, and
//! drains, with the result protected. A destructor is such code, too: a drain in it takes the objects that came to
//! the list since it began.

use super::{FIELDS, GLOBALS, Kind, LOCALS, MORE, Place, Program, Statement, may_refer};

type Reference = Option<usize>;

struct Object {
    id: u64,
    kind: Kind,
    fields: Vec<Reference>,
    count: i64,
    pending: bool,
    finalized: bool,
    freed: bool,
}

/// A run under way.
pub struct Machine<'p> {
    program: &'p Program,
    objects: Vec<Object>,
    globals: [Reference; GLOBALS],
    pending: Vec<usize>,
    drain_from: usize,
    protected: Vec<usize>,
    serial: u64,
    step: u64,
    fuel: i64,
    output: String,
}

/// Returns the output of the program with that much fuel.
pub fn run(program: &Program, fuel: i64) -> String {
    let mut machine = Machine {
        program,
        objects: Vec::new(),
        globals: [None; GLOBALS],
        pending: Vec::new(),
        drain_from: 0,
        protected: Vec::new(),
        serial: 0,
        step: 0,
        fuel: 0,
        output: String::new(),
    };
    for round in 0..3 {
        machine.fuel = fuel;
        machine.call(0, None, None);
        machine.print(&format!("round {round}"));
    }
    for global in 0..GLOBALS {
        machine.set_global(global, None);
        machine.print(".");
    }
    let left = machine.objects.iter().filter(|object| !object.freed).count();
    assert_eq!(left, 0, "without cycles nothing is left");
    machine.output
}

impl Machine<'_> {
    fn print(&mut self, line: &str) {
        self.drain(&[]);
        self.output.push_str(line);
        self.output.push('\n');
    }

    fn increment(&mut self, target: Reference) {
        if let Some(target) = target {
            assert!(!self.objects[target].freed, "the program uses a dead object");
            self.objects[target].count += 1;
        }
    }

    fn decrement(&mut self, target: Reference) {
        if let Some(target) = target {
            self.objects[target].count -= 1;
            if self.objects[target].count == 0 {
                self.wait(target);
            }
        }
    }

    fn wait(&mut self, object: usize) {
        if !std::mem::replace(&mut self.objects[object].pending, true) {
            self.pending.push(object);
        }
    }

    fn drain(&mut self, words: &[Reference]) {
        let before = self.protected.len();
        self.protected.extend(words.iter().flatten());
        let mut kept = Vec::new();
        let mut at = self.drain_from;
        while at < self.pending.len() {
            let object = self.pending[at];
            at += 1;
            if self.objects[object].count == 0 && self.protected.contains(&object) {
                kept.push(object);
                continue;
            }
            self.objects[object].pending = false;
            if self.objects[object].count == 0 {
                self.reclaim(object);
            }
        }
        self.pending.truncate(self.drain_from);
        self.pending.extend(kept);
        self.protected.truncate(before);
    }

    fn reclaim(&mut self, object: usize) {
        if !std::mem::replace(&mut self.objects[object].finalized, true) {
            self.objects[object].count = 1;
            let drain_from = std::mem::replace(&mut self.drain_from, self.pending.len());
            self.finalize(object);
            self.drain_from = drain_from;
            self.objects[object].count -= 1;
            if self.objects[object].count != 0 {
                return;
            }
        }
        for field in 0..self.objects[object].fields.len() {
            if let Some(target) = self.objects[object].fields[field].take() {
                self.release(target);
            }
        }
        self.objects[object].freed = true;
    }

    fn release(&mut self, target: usize) {
        self.objects[target].count -= 1;
        if self.objects[target].count != 0 || self.objects[target].pending {
            return;
        }
        match self.protected.contains(&target) {
            true => self.wait(target),
            false => self.reclaim(target),
        }
    }

    fn finalize(&mut self, object: usize) {
        let id = self.objects[object].id;
        self.print(&format!("-{id}"));
        match self.objects[object].kind {
            Kind::Plain | Kind::Row => return,
            Kind::Cutter => self.write(object, 1, None),
            Kind::Maker => {
                let made = self.make(Kind::Plain);
                if may_refer(id, self.objects[made].id) {
                    self.write(object, 0, Some(made));
                }
            }
        }
        self.print(&format!("~{id}"));
        self.drain(&[]);
    }

    fn write(&mut self, object: usize, field: usize, target: Reference) {
        self.increment(target);
        let old = std::mem::replace(&mut self.objects[object].fields[field], target);
        self.decrement(old);
    }

    fn set_global(&mut self, global: usize, target: Reference) {
        self.increment(target);
        let old = std::mem::replace(&mut self.globals[global], target);
        self.decrement(old);
    }

    /// A call of `make`.
    fn make(&mut self, kind: Kind) -> usize {
        self.serial += 1;
        let number = Kind::ALL.iter().position(|one| *one == kind).expect("a kind of the list") as u64;
        let id = self.serial * 4 + number;
        self.print(&format!("+{id}"));
        let fields = if kind == Kind::Row { FIELDS + MORE } else { FIELDS };
        let object =
            Object { id, kind, fields: vec![None; fields], count: 0, pending: false, finalized: false, freed: false };
        self.objects.push(object);
        let object = self.objects.len() - 1;
        self.wait(object);
        self.drain(&[Some(object)]);
        object
    }

    fn call(&mut self, function: usize, first: Reference, second: Reference) -> Reference {
        self.drain(&[first, second]);
        let mut locals = [None; LOCALS];
        self.set(&mut locals, 0, first);
        self.set(&mut locals, 1, second);
        self.fuel -= 1;
        let program = self.program;
        let result = if self.fuel < 0 {
            None
        } else {
            let (body, result) = &program.functions[function];
            self.block(&mut locals, body).unwrap_or_else(|| self.read(&locals, result))
        };
        for local in (0..LOCALS).rev() {
            self.decrement(locals[local]);
        }
        self.drain(&[result]);
        result
    }

    fn set(&mut self, locals: &mut [Reference; LOCALS], local: usize, target: Reference) {
        self.increment(target);
        let old = std::mem::replace(&mut locals[local], target);
        self.decrement(old);
    }

    fn read(&self, locals: &[Reference; LOCALS], place: &Place) -> Reference {
        match place {
            Place::Null => None,
            Place::Local(local) => locals[*local],
            Place::Global(global) => self.globals[*global],
            Place::Field(local, field) => locals[*local].and_then(|object| self.objects[object].fields[*field]),
        }
    }

    /// The result, if the statements return one.
    fn block(&mut self, locals: &mut [Reference; LOCALS], body: &[Statement]) -> Option<Reference> {
        body.iter().find_map(|statement| self.statement(locals, statement))
    }

    fn may_refer(&self, object: Reference, target: Reference) -> bool {
        let id = |object: usize| self.objects[object].id;
        object.is_some_and(|object| target.is_none_or(|target| may_refer(id(object), id(target))))
    }

    fn statement(&mut self, locals: &mut [Reference; LOCALS], statement: &Statement) -> Option<Reference> {
        match statement {
            Statement::Make(local, kind) => {
                let made = self.make(*kind);
                self.set(locals, *local, Some(made));
            }
            Statement::Set(local, from) => {
                let target = self.read(locals, from);
                self.set(locals, *local, target);
            }
            Statement::Swap(one, other) => {
                let (first, second) = (locals[*one], locals[*other]);
                self.set(locals, *one, second);
                self.set(locals, *other, first);
            }
            Statement::Write(object, field, from) => {
                let target = self.read(locals, from);
                if self.may_refer(locals[*object], target) {
                    self.write(locals[*object].expect("it may refer"), *field, target);
                }
            }
            Statement::WriteElement(object, element, from) => {
                let target = self.read(locals, from);
                if self.may_refer(locals[*object], target) {
                    let object = locals[*object].expect("it may refer");
                    if self.objects[object].kind == Kind::Row {
                        self.write(object, FIELDS + element, target);
                    }
                }
            }
            Statement::Hand(object, field, local) => {
                if self.may_refer(locals[*object], locals[*local]) {
                    self.write(locals[*object].expect("it may refer"), *field, locals[*local]);
                    self.set(locals, *local, None);
                }
            }
            Statement::WriteNew(object, field, kind) => {
                if locals[*object].is_some() {
                    let made = self.make(*kind);
                    if self.may_refer(locals[*object], Some(made)) {
                        self.write(locals[*object].expect("looked at above"), *field, Some(made));
                    }
                }
            }
            Statement::SetGlobal(global, from) => {
                let target = self.read(locals, from);
                self.set_global(*global, target);
            }
            Statement::Call(to, function, first, second) => {
                let first = self.read(locals, first);
                let second = self.read(locals, second);
                let result = self.call(*function, first, second);
                if let Some(local) = to {
                    self.set(locals, *local, result);
                }
            }
            Statement::If(one, other) => {
                self.step = (self.step * 5 + 3) & 0xff_ffff;
                let taken = if self.step >> 9 & 1 == 1 { one } else { other };
                if let Some(result) = self.block(locals, taken) {
                    return Some(result);
                }
            }
            Statement::Repeat(times, body) => {
                for _ in 0..*times {
                    if let Some(result) = self.block(locals, body) {
                        return Some(result);
                    }
                }
            }
            Statement::Return(from) => return Some(self.read(locals, from)),
        }
        self.print(".");
        None
    }
}
