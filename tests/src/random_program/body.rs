//! The text of one function while it is being made, and the names that may be used in it.
//!
//! Variables follow C's scopes: `open` and `close` bracket a block. Rooted variables may be used anywhere; others
//! ("loose") only until the next safepoint, so `statement.rs` never sees them and `quiet.rs` forgets them at its end.

use super::GLOBALS;
use super::function::Signature;
use super::kinds::{KINDS, Kind};
use tally_kit::dice::Dice;

/// A variable that holds a reference.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub name: String,
    /// The type that it probably holds.
    pub likely: usize,
    pub rooted: bool,
    /// Whether it may be assigned to.
    pub assignable: bool,
}

/// The function being written.
pub(super) struct Body<'a> {
    pub dice: &'a mut Dice,
    pub functions: &'a [Signature],
    pub text: String,
    pub variables: Vec<Variable>,
    /// Rooted words: name and type.
    pub words: Vec<(String, &'static str)>,
    /// Numbers that may be read.
    pub numbers: Vec<String>,
    /// Rooted `Few`s.
    pub fews: Vec<String>,
    /// The text to write before the end.
    pub frame_check: Option<String>,
    depth: usize,
    next: usize,
}

/// The place where a block began.
#[derive(Debug)]
pub(super) struct Scope {
    variables: usize,
    words: usize,
    numbers: usize,
    fews: usize,
}

impl<'a> Body<'a> {
    pub fn new(dice: &'a mut Dice, functions: &'a [Signature]) -> Body<'a> {
        Body {
            dice,
            functions,
            text: String::new(),
            variables: Vec::new(),
            words: Vec::new(),
            numbers: vec!["n".to_owned()],
            fews: Vec::new(),
            frame_check: None,
            depth: 1,
            next: 0,
        }
    }

    /// One line of text.
    pub fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("    ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line that opens a block, such as `if (…) {`.
    pub fn open(&mut self, line: &str) -> Scope {
        self.line(line);
        self.depth += 1;
        Scope {
            variables: self.variables.len(),
            words: self.words.len(),
            numbers: self.numbers.len(),
            fews: self.fews.len(),
        }
    }

    /// The end of a block; what was declared in it is forgotten.
    pub fn close(&mut self, scope: Scope) {
        self.close_with(scope, "}");
    }

    pub fn close_with(&mut self, scope: Scope, line: &str) {
        self.depth -= 1;
        self.line(line);
        self.variables.truncate(scope.variables);
        self.words.truncate(scope.words);
        self.numbers.truncate(scope.numbers);
        self.fews.truncate(scope.fews);
    }

    /// A name not used in this function.
    pub fn fresh_name(&mut self, letter: &str) -> String {
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    /// Adds a variable that is declared already.
    pub fn know(&mut self, name: &str, rooted: bool) {
        let likely = self.dice.below(KINDS.len());
        self.variables.push(Variable { name: name.to_owned(), likely, rooted, assignable: true });
    }

    pub fn declare_reference(&mut self) {
        let (name, value) = (self.fresh_name("v"), self.reference());
        match self.dice.below(4) {
            0 => self.line(&format!("Any *{name} = {value}; TALLY_ROOT({name});")),
            1 => self.line(&format!("Any *{name} = NULL; {{ TALLY_ROOT({name}); }}")),
            _ => self.line(&format!("Any *{name} = NULL; TALLY_ROOT({name});")),
        }
        self.know(&name, true);
    }

    pub fn declare_word(&mut self, word: &'static str) {
        let (name, number) = (self.fresh_name("w"), self.number());
        let macros = if word == "Low" { "LOW" } else { "NAN" };
        self.line(&format!("{word} {name} = {macros}_NUMBER({number}); TALLY_ROOT_TAGGED({word}, {name});"));
        self.words.push((name, word));
    }

    pub fn declare_few(&mut self) {
        let (name, value) = (self.fresh_name("few"), self.reference());
        let how = if self.dice.one_in(4) { "_Alignas(64) " } else { "" };
        self.line(&format!("{how}Few {name} = {{{{{value}}}}}; TALLY_ROOT_AS(Few, {name});"));
        self.fews.push(name);
    }

    /// A variable that may be used here.
    pub fn variable(&mut self) -> Variable {
        let number = self.dice.below(self.variables.len());
        self.variables[number].clone()
    }

    /// A rooted variable that may be assigned to.
    pub fn target(&mut self) -> String {
        let all: Vec<&Variable> = self.variables.iter().filter(|one| one.rooted && one.assignable).collect();
        let number = self.dice.below(all.len());
        all[number].name.clone()
    }

    /// A variable and the type that it probably has, if `wanted` of that type.
    pub fn typed(&mut self, wanted: impl Fn(&Kind) -> bool) -> (String, &'static Kind) {
        let variable = self.variable();
        let mut kind = variable.likely;
        while !wanted(&KINDS[kind]) || self.dice.one_in(12) {
            kind = self.dice.below(KINDS.len());
        }
        (variable.name, &KINDS[kind])
    }

    /// Notes the type that a variable probably holds from now on.
    pub fn suppose(&mut self, name: &str, kind: &Kind) {
        let likely = KINDS.iter().position(|one| one.name == kind.name).expect("a kind of the list");
        for variable in self.variables.iter_mut().filter(|variable| variable.name == name) {
            variable.likely = likely;
        }
    }

    /// An expression without a call for a reference.
    pub fn reference(&mut self) -> String {
        if self.variables.is_empty() {
            return "NULL".to_owned();
        }
        let name = self.variable().name;
        match self.dice.below(16) {
            0 => "((Any *)NULL)".to_owned(),
            1 => {
                let (other, number) = (self.variable().name, self.number());
                format!("({number} & 1 ? {name} : {other})")
            }
            2 => (*self.dice.pick(&GLOBALS)).to_owned(),
            3 if !self.fews.is_empty() => self.few_slot(),
            _ => name,
        }
    }

    /// A field of a rooted struct.
    pub fn few_slot(&mut self) -> String {
        let number = self.number();
        let few = self.dice.pick(&self.fews).clone();
        if self.dice.one_in(2) { format!("{few}.r[{number} & 3]") } else { format!("{few}.r[{}]", self.dice.below(4)) }
    }

    /// An expression without a call for a number.
    pub fn number(&mut self) -> String {
        match self.dice.below(8) {
            0 => self.dice.below(100).to_string(),
            1 => "(long)(sum & 15)".to_owned(),
            2 => "(long)(dice >> 40 & 31)".to_owned(),
            _ => self.dice.pick(&self.numbers).clone(),
        }
    }

    /// An expression without a call for a word of a type.
    pub fn word_value(&mut self, word: &str, macros: &str) -> String {
        let names: Vec<String> =
            self.words.iter().filter(|(_, of)| *of == word).map(|(name, _)| name.clone()).collect();
        if !names.is_empty() && self.dice.one_in(2) {
            return self.dice.pick(&names).clone();
        }
        if self.dice.one_in(4) || self.variables.is_empty() {
            let number = self.number();
            return format!("{macros}_NUMBER({number})");
        }
        let name = self.variable().name;
        format!("{macros}_OF({name})")
    }
}
