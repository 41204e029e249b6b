//! Tiny in Rust: a compiler over inkwell and `tally::llvm::Frontend`, and the language's runtime in the same process.
//!
//!     cargo run --release -p tally-llvm --example tiny -- examples/frontends/program.tiny WORDS
//!
//! Nobody writes a descriptor, a barrier or the metadata of a root here: types are described by their fields, and `Frontend` does
//! the rest. Values are tagged words: a number n is the word 2n + 1, nil is 0, and all else is a reference. WORDS are `prompt`
//! (objects die when their last reference goes), `trace` and `typed` (references are `ptr addrspace(1)`). An error is a Rust panic that goes through the frames of compiled code.

use std::collections::HashMap;
use std::panic::catch_unwind;

use tally::Plan;
use tally::llvm::inkwell::context::Context;
use tally::llvm::inkwell::values::{BasicValue, FunctionValue, GlobalValue, IntValue, PointerValue};
use tally::llvm::inkwell::{AddressSpace, IntPredicate};
use tally::llvm::{Body, CompileOptions, Frontend, ObjectType, Root, Session};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[path = "runtime.rs"]
mod runtime;

// ---- The reader ---------------------------------------------------------------------------------------------------------------

enum Form {
    Number(i64),
    Text(String),
    Name(String),
    List(Vec<Form>),
}

fn read_all(text: &str) -> Result<Vec<Form>> {
    let mut stack = vec![Vec::new()];
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '"' => rest[1..].find('"').ok_or("a text without an end")? + 2,
            '(' | ')' => 1,
            _ if letter.is_whitespace() => letter.len_utf8(),
            _ => rest.find(|it: char| it.is_whitespace() || "();\"".contains(it)).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        let form = match letter {
            '(' => {
                stack.push(Vec::new());
                continue;
            }
            ')' => Form::List(stack.pop().filter(|_| !stack.is_empty()).ok_or("a bracket too many")?),
            '"' => Form::Text(word.trim_matches('"').to_owned()),
            _ if letter == ';' || letter.is_whitespace() => continue,
            _ => word.parse().map_or_else(|_| Form::Name(word.to_owned()), Form::Number),
        };
        stack.last_mut().ok_or("a bracket too many")?.push(form);
    }
    if stack.len() == 1 { Ok(stack.remove(0)) } else { Err("a bracket is missing".into()) }
}

// ---- The compiler -------------------------------------------------------------------------------------------------------------

/// A function of Tiny while it is compiled.
struct Function<'f, 'ctx> {
    body: Body<'f, 'ctx>,
    /// The function's own object, which holds what it has captured.
    own: Root<'ctx, IntValue<'ctx>>,
    variables: Vec<(String, Root<'ctx, IntValue<'ctx>>)>,
    captured: Vec<String>,
}

struct Compiler<'f, 'ctx> {
    frontend: &'f Frontend<'ctx>,
    cell: ObjectType<'ctx>,
    function: ObjectType<'ctx>,
    globals: HashMap<String, GlobalValue<'ctx>>,
    /// The innermost is the last.
    functions: Vec<Function<'f, 'ctx>>,
    compiled: usize,
}

impl<'f, 'ctx> Compiler<'f, 'ctx> {
    fn new(frontend: &'f Frontend<'ctx>) -> Result<Compiler<'f, 'ctx>> {
        let (word, code) = (frontend.word(), frontend.context().ptr_type(AddressSpace::default()));
        let byte = frontend.context().i8_type();
        let cell = frontend.object("Cell").plain("kind", word).tagged("head").tagged("tail").define()?;
        frontend.object("Text").plain("kind", word).length("length").elements(byte).define()?; // the runtime makes them
        let function = frontend.object("Function").plain("kind", word).plain("code", code).plain("arity", word);
        let function = function.length("captured").tagged_words().define()?;
        Ok(Compiler { frontend, cell, function, globals: HashMap::new(), functions: vec![], compiled: 0 })
    }

    fn number(&self, value: u64) -> IntValue<'ctx> {
        self.frontend.word().const_int(value, false)
    }

    fn body(&self) -> &Body<'f, 'ctx> {
        &self.functions.last().expect("a function is being compiled").body
    }

    /// Declares a function of words.
    fn declare(&self, name: &str, parameters: usize) -> FunctionValue<'ctx> {
        let word = self.frontend.word();
        self.frontend.function(name, word.fn_type(&vec![word.into(); parameters], false))
    }

    /// Calls a function of the runtime.
    fn runtime(&self, name: &str, arguments: &[IntValue<'ctx>]) -> Result<IntValue<'ctx>> {
        let word = self.frontend.word();
        let function = self.frontend.native(name, word.fn_type(&vec![word.into(); arguments.len()], false));
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.into()).collect();
        Ok(self.body().call(function, &arguments)?.ok_or("a word is returned")?.into_int_value())
    }

    /// Compiles a program to the function `tiny_main`.
    fn program(&mut self, forms: &[Form]) -> Result<()> {
        let word = self.frontend.word();
        let main = self.frontend.function("tiny_main", word.fn_type(&[], false));
        self.begin(main, &[])?;
        for form in forms {
            match form {
                Form::List(items) if matches!(&items[..], [Form::Name(define), ..] if define == "define") => {
                    let [_, Form::Name(name), value] = &items[..] else { return Err("(define NAME VALUE)".into()) };
                    // A global root is a reference: to a cell with the value, which functions may name before it is there.
                    let global = self.frontend.global(&format!("global.{name}"));
                    self.globals.insert(name.clone(), global);
                    let cell = self.make_cell(self.number(0), self.number(0))?;
                    self.body().write_global(global, cell)?;
                    let value = self.compile(value)?;
                    let cell = self.body().read_global(global)?;
                    self.body().write(cell, self.cell.field("head")?, value)?;
                }
                form => drop(self.compile(form)?),
            }
        }
        self.end(self.number(0))?;
        Ok(())
    }

    /// Begins a function whose first parameter, if it has one, is its own object.
    fn begin(&mut self, function: FunctionValue<'ctx>, parameters: &[String]) -> Result<()> {
        let body = self.frontend.body(function)?;
        let first = if function.count_params() == 0 { self.number(0) } else { body.parameter(0).into_int_value() };
        let own = body.root("own", first)?;
        let mut variables = Vec::new();
        for (number, name) in (1..).zip(parameters) {
            variables.push((name.clone(), body.root(name, body.parameter(number).into_int_value())?));
        }
        self.functions.push(Function { body, own, variables, captured: Vec::new() });
        Ok(())
    }

    fn end(&mut self, result: IntValue<'ctx>) -> Result<Vec<String>> {
        self.body().builder().build_return(Some(&result))?;
        Ok(self.functions.pop().expect("it was begun").captured)
    }

    /// Compiles a form; the result is in no root.
    fn compile(&mut self, form: &Form) -> Result<IntValue<'ctx>> {
        match form {
            Form::Number(number) => Ok(self.number((number << 1 | 1) as u64)),
            Form::Name(name) => self.variable(name, self.functions.len() - 1),
            Form::Text(text) => {
                let bytes = self.body().builder().build_global_string_ptr(text, "text")?.as_pointer_value();
                let (word, pointer) = (self.frontend.word(), bytes.get_type());
                let make = self.frontend.native("tiny_text", word.fn_type(&[pointer.into(), word.into()], false));
                let length = self.number(text.len() as u64);
                Ok(self.body().call(make, &[bytes.into(), length.into()])?.ok_or("a text")?.into_int_value())
            }
            Form::List(items) => match &items[..] {
                [Form::Name(name), operands @ ..] => self.special(name, operands, items),
                _ => self.application(items),
            },
        }
    }

    fn special(&mut self, name: &str, operands: &[Form], items: &[Form]) -> Result<IntValue<'ctx>> {
        match (name, operands) {
            ("fn", [Form::List(parameters), body]) => self.closure(parameters, body),
            ("do", [first @ .., last]) => {
                first.iter().try_for_each(|form| self.compile(form).map(drop))?;
                self.compile(last)
            }
            ("let", [Form::List(binding), body]) => {
                let [Form::Name(name), value] = &binding[..] else { return Err("(let (NAME VALUE) BODY)".into()) };
                let value = self.compile(value)?;
                let variable = self.body().root(name, value)?;
                let function = self.functions.last_mut().expect("a function is being compiled");
                function.variables.push((name.clone(), variable));
                let result = self.compile(body);
                self.functions.last_mut().expect("a function is being compiled").variables.pop();
                self.body().take(&variable)?; // the end of its scope
                result
            }
            ("if", [condition, yes, no]) => {
                let condition = self.compile(condition)?;
                self.choose(condition, yes, no)
            }
            ("cons", [_, _]) => {
                let values = self.operands(operands)?;
                let cell = self.make_cell(values[0], values[1])?;
                Ok(self.body().tag(cell)?)
            }
            ("head" | "tail", [cell]) => {
                let cell = self.compile(cell)?;
                let cell = self.body().untag(self.runtime("tiny_cell", &[cell])?)?;
                Ok(self.body().read(cell, self.cell.field(name)?)?.into_int_value())
            }
            ("set-head", [_, _]) => {
                let values = self.operands(operands)?;
                let value = self.body().root("value", values[1])?;
                let cell = self.body().untag(self.runtime("tiny_cell", &[values[0]])?)?;
                let value = self.body().take(&value)?;
                self.body().write(cell, self.cell.field("head")?, value)?;
                Ok(value)
            }
            ("+" | "-" | "<" | "=", [_, _]) => {
                let values = self.operands(operands)?;
                self.arithmetic(name, values[0], values[1])
            }
            ("join" | "try", [_, _]) | ("print" | "error", [_]) | ("live", []) => {
                // The runtime has no roots: those of its caller hold the operands until it returns.
                let roots = self.rooted(operands)?;
                let values: Vec<_> =
                    roots.iter().map(|root| self.body().load(root)).collect::<std::result::Result<_, _>>()?;
                let result = self.runtime(&format!("tiny_{name}"), &values)?;
                self.taken(&roots)?;
                Ok(result)
            }
            _ => self.application(items),
        }
    }

    /// Compiles operands from left to right: while one is computed, roots hold those before it.
    fn rooted(&mut self, forms: &[Form]) -> Result<Vec<Root<'ctx, IntValue<'ctx>>>> {
        let mut roots = Vec::new();
        for form in forms {
            let value = self.compile(form)?;
            roots.push(self.body().root("operand", value)?);
        }
        Ok(roots)
    }

    /// The values of roots that are read for the last time.
    fn taken(&self, roots: &[Root<'ctx, IntValue<'ctx>>]) -> Result<Vec<IntValue<'ctx>>> {
        roots.iter().map(|root| Ok(self.body().take(root)?)).collect()
    }

    fn operands(&mut self, forms: &[Form]) -> Result<Vec<IntValue<'ctx>>> {
        let roots = self.rooted(forms)?;
        self.taken(&roots)
    }

    fn make_cell(&self, head: IntValue<'ctx>, tail: IntValue<'ctx>) -> Result<PointerValue<'ctx>> {
        let body = self.body();
        let (head, tail) = (body.root("head", head)?, body.root("tail", tail)?);
        let cell = body.allocate(&self.cell)?;
        body.write(cell, self.cell.field("kind")?, self.number(runtime::CELL))?;
        body.write(cell, self.cell.field("head")?, body.take(&head)?)?;
        body.write(cell, self.cell.field("tail")?, body.take(&tail)?)?;
        Ok(cell)
    }

    fn choose(&mut self, condition: IntValue<'ctx>, yes: &Form, no: &Form) -> Result<IntValue<'ctx>> {
        let blocks = ["yes", "no", "then"].map(|name| self.body().block(name));
        let builder = self.body().builder();
        let is_true = builder.build_int_compare(IntPredicate::NE, condition, self.number(0), "")?;
        builder.build_conditional_branch(is_true, blocks[0], blocks[1])?;
        let mut results = Vec::new();
        for (form, block) in [yes, no].into_iter().zip(blocks) {
            self.body().builder().position_at_end(block);
            let value = self.compile(form)?;
            let builder = self.body().builder();
            results.push((value, builder.get_insert_block().ok_or("a block")?));
            builder.build_unconditional_branch(blocks[2])?;
        }
        let builder = self.body().builder();
        builder.position_at_end(blocks[2]);
        let result = builder.build_phi(self.frontend.word(), "")?;
        let incoming: Vec<(&dyn BasicValue, _)> = results.iter().map(|(value, block)| (value as _, *block)).collect();
        result.add_incoming(&incoming);
        Ok(result.as_basic_value().into_int_value())
    }

    fn arithmetic(&self, name: &str, left: IntValue<'ctx>, right: IntValue<'ctx>) -> Result<IntValue<'ctx>> {
        let right = self.body().root("right", right)?;
        let left = self.runtime("tiny_number", &[left])?;
        let right = self.runtime("tiny_number", &[self.body().take(&right)?])?;
        let builder = self.body().builder();
        let predicate = if name == "<" { IntPredicate::SLT } else { IntPredicate::EQ };
        let number = match name {
            "+" => builder.build_int_add(left, right, "")?,
            "-" => builder.build_int_sub(left, right, "")?,
            _ => {
                let holds = builder.build_int_compare(predicate, left, right, "")?;
                return Ok(builder.build_select(holds, self.number(3), self.number(0), "")?.into_int_value());
            }
        };
        let twice = builder.build_left_shift(number, self.number(1), "")?;
        Ok(builder.build_or(twice, self.number(1), "")?)
    }

    /// Calls a function of Tiny: its object, then the arguments.
    fn call(&self, values: &[IntValue<'ctx>]) -> Result<IntValue<'ctx>> {
        let word = self.frontend.word();
        let roots: Vec<_> =
            values.iter().map(|&value| self.body().root("argument", value)).collect::<std::result::Result<_, _>>()?;
        let code = self.runtime("tiny_code", &[values[0], self.number(values.len() as u64 - 1)])?;
        let builder = self.body().builder();
        let code = builder.build_int_to_ptr(code, self.frontend.context().ptr_type(AddressSpace::default()), "")?;
        let arguments: Vec<_> = self.taken(&roots)?.into_iter().map(Into::into).collect();
        let of = word.fn_type(&vec![word.into(); values.len()], false);
        let call = builder.build_indirect_call(of, code, &arguments, "")?;
        Ok(call.try_as_basic_value().basic().ok_or("a word is returned")?.into_int_value())
    }

    fn application(&mut self, items: &[Form]) -> Result<IntValue<'ctx>> {
        let values = self.operands(items)?;
        if values.is_empty() { Err("() calls nothing".into()) } else { self.call(&values) }
    }

    /// Reads a variable in the function at `depth`; one of an outer function is captured.
    fn variable(&mut self, name: &str, depth: usize) -> Result<IntValue<'ctx>> {
        let function = &self.functions[depth];
        if name == "nil" {
            return Ok(self.number(0));
        }
        if let Some((_, root)) = function.variables.iter().rev().find(|(known, _)| known == name) {
            return Ok(function.body.load(root)?);
        }
        let is_outer = |outer: &Function| outer.variables.iter().any(|(known, _)| known == name);
        if self.functions[..depth].iter().any(is_outer) {
            let place = function.captured.iter().position(|known| known == name).unwrap_or(function.captured.len());
            let body = &function.body;
            let own = body.untag(body.load(&function.own)?)?;
            let value = body.read(own, &self.function.element(self.number(place as u64))?)?;
            if place == function.captured.len() {
                self.functions[depth].captured.push(name.to_owned());
            }
            return Ok(value.into_int_value());
        }
        let global = self.globals.get(name).ok_or_else(|| format!("`{name}` is not defined"))?;
        let holder = function.body.read_global(*global)?;
        Ok(function.body.read(holder, self.cell.field("head")?)?.into_int_value())
    }

    fn closure(&mut self, parameters: &[Form], body: &Form) -> Result<IntValue<'ctx>> {
        let name =
            |form: &Form| if let Form::Name(name) = form { Ok(name.clone()) } else { Err("(fn (NAME …) BODY)") };
        let parameters = parameters.iter().map(name).collect::<std::result::Result<Vec<_>, _>>()?;
        self.compiled += 1;
        let code = self.declare(&format!("fn.{}", self.compiled), parameters.len() + 1);
        self.begin(code, &parameters)?;
        let result = self.compile(body)?;
        let captured = self.end(result)?;
        let depth = self.functions.len() - 1;
        let values: Vec<_> = captured.iter().map(|name| self.variable(name, depth)).collect::<Result<_>>()?;
        let body = self.body();
        let roots =
            values.iter().map(|&value| body.root("captured", value)).collect::<std::result::Result<Vec<_>, _>>()?;
        let object = body.allocate_array(&self.function, self.number(captured.len() as u64))?;
        body.write(object, self.function.field("kind")?, self.number(runtime::FUNCTION))?;
        body.write(object, self.function.field("code")?, code.as_global_value().as_pointer_value())?;
        body.write(object, self.function.field("arity")?, self.number(parameters.len() as u64))?;
        for (place, root) in (0..).zip(&roots) {
            body.write(object, &self.function.element(self.number(place))?, body.take(root)?)?;
        }
        Ok(body.tag(object)?)
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, options @ ..] = &words[..] else { return Err("tiny FILE [prompt|trace] [typed]".into()) };
    let context = Context::create();
    let mut frontend = Frontend::new(&context, file)?;
    for word in options {
        frontend = match word.as_str() {
            "prompt" => frontend.plan(Plan::Prompt),
            "trace" => frontend.plan(Plan::Trace),
            "typed" => frontend.typed_references(),
            _ => return Err(format!("`{word}` is no word of: prompt, trace, typed").into()),
        };
    }
    Compiler::new(&frontend)?.program(&read_all(&std::fs::read_to_string(file)?)?)?;
    for warning in frontend.check()? {
        eprintln!("{warning}");
    }
    let mut session = Session::new(CompileOptions::default())?;
    runtime::functions().iter().try_for_each(|&(name, function)| session.define(name, function))?;
    // SAFETY: `Frontend` and this compiler keep the contract, and the runtime's functions are of the types that it has declared.
    unsafe { session.add_module(file, frontend.module()) }?;
    runtime::TEXTS.set(session.lookup("Text").ok_or("the compiler has defined it")?);
    let run = session.lookup("tiny_main").ok_or("the compiler has defined it")?;
    // SAFETY: this is its type.
    let run: extern "C-unwind" fn() -> runtime::Word = unsafe { std::mem::transmute(run) };
    catch_unwind(|| run()).map(drop).map_err(|_| "an error that nothing caught".into())
}
