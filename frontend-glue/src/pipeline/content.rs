//! A number for all that a module computes and holds, which tells the modules of one program apart ([`Identity::Content`]).
//!
//! Functions and variables are walked in the module's order, and what each instruction and constant consists of is mixed into a
//! hash (FNV-1a by words). Values and types have numbers by the order in which they are met, so that the number is the same in
//! every build. Metadata and attributes are left out: modules that differ in them alone have the same roots. To hash LLVM's bitcode
//! instead took as long as a third of all work on a module whose every pointer is a root.
//!
//! [`Identity::Content`]: super::Identity::Content

use crate::llvm::{Block, HandleMap, Module, Opcode, Type, Value};

/// The number of a module's content, as text.
pub(super) fn number(module: Module) -> String {
    let mut reading = Reading {
        hash: FIRST,
        values: HandleMap::default(),
        types: HandleMap::default(),
        blocks: HandleMap::default(),
        open: Vec::new(),
    };
    reading.text(&module.source_name());
    for global in module.globals() {
        reading.text(&global.name());
        reading.of_type(global.value_type());
        global.initializer().into_iter().for_each(|content| reading.value(content));
        reading.read_constants();
    }
    for function in module.functions() {
        reading.text(&function.name());
        reading.of_type(function.value_type());
        for block in function.blocks() {
            reading.block(block);
            block.instructions().for_each(|instruction| reading.instruction(instruction));
            block.successors().into_iter().for_each(|next| reading.block(next));
        }
    }
    format!("{:016x}", reading.hash)
}

const FIRST: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

struct Reading {
    hash: u64,
    /// The numbers of the values, types and blocks that have been met.
    values: HandleMap<Value, u64>,
    types: HandleMap<Type, u64>,
    blocks: HandleMap<Block, u64>,
    /// Constants that were met and not read yet.
    open: Vec<Value>,
}

impl Reading {
    fn word(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(PRIME);
        // A product hands differences on to higher bits alone.
        self.hash ^= self.hash >> 32;
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.word(u64::from_le_bytes(word));
        });
    }

    fn instruction(&mut self, instruction: Value) {
        self.word(instruction.opcode().map_or(0, |opcode| opcode as u64));
        self.of_type(instruction.type_of());
        match instruction.opcode() {
            Some(Opcode::LLVMICmp | Opcode::LLVMFCmp) => self.word(instruction.predicate()),
            Some(Opcode::LLVMAlloca) => self.of_type(instruction.allocated_type()),
            Some(Opcode::LLVMGetElementPtr) => self.of_type(instruction.source_element_type()),
            _ => {}
        }
        self.number(instruction);
        instruction.operands().for_each(|operand| self.value(operand));
        self.read_constants();
    }

    /// Mixes in the number of a value; a constant that is met for the first time is to be read.
    fn value(&mut self, value: Value) {
        if self.number(value) && value.is_constant() {
            self.open.push(value);
        }
    }

    /// Mixes in the number of a value; whether it had none before.
    fn number(&mut self, value: Value) -> bool {
        let next = self.values.len() as u64;
        let number = *self.values.entry(value).or_insert(next);
        self.word(number);
        number == next
    }

    fn read_constants(&mut self) {
        while let Some(constant) = self.open.pop() {
            self.of_type(constant.type_of());
            self.word(constant.kind_number());
            if let Some(number) = constant.constant_integer() {
                self.word(number);
            } else if constant.is_global() {
                self.text(&constant.name());
            } else if let Some(text) = constant.constant_bytes() {
                self.word(text.len() as u64);
                self.bytes(&text);
            } else if let Some(number) = constant.constant_real() {
                self.word(number.to_bits());
            } else if constant.is_integer_constant() {
                self.text(&constant.print());
            } else {
                self.word(constant.constant_opcode().map_or(0, |opcode| opcode as u64));
                constant.operands().for_each(|operand| self.value(operand));
            }
        }
    }

    fn block(&mut self, block: Block) {
        let next = self.blocks.len() as u64;
        let number = *self.blocks.entry(block).or_insert(next);
        self.word(number);
    }

    fn of_type(&mut self, of: Type) {
        let next = self.types.len() as u64;
        let number = *self.types.entry(of).or_insert(next);
        self.word(number);
        if number == next {
            self.text(&of.print());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number;
    use crate::llvm::Module;

    fn number_of(text: &str) -> String {
        let context = inkwell::context::Context::create();
        let buffer = inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        number(Module::of(&context.create_module_from_ir(buffer).unwrap()))
    }

    const PROGRAM: &str = "@text = private constant [4 x i8] c\"one\\00\"\n@pair = global { i32, double } { i32 1, double 2.5 }\n\
        declare void @print(ptr)\ndefine i32 @f(i32 %a, i1 %c) {\nentry:\n  %p = alloca { i32, i32 }\n\
        %q = getelementptr { i32, i32 }, ptr %p, i32 0, i32 1\n  %s = icmp slt i32 %a, 7\n\
        br i1 %c, label %here, label %there\nhere:\n  call void @print(ptr @text)\n  ret i32 1\n\
        there:\n  ret i32 %a\n}\n";

    #[test]
    fn modules_that_differ_anywhere_have_different_numbers() {
        let same = number_of(PROGRAM);
        assert_eq!(same, number_of(PROGRAM), "it is the same in another context");
        let changes = [
            ("one", "two"),
            ("i32 1, double", "i32 2, double"),
            ("double 2.5", "double 3.5"),
            ("@print", "@write"),
            ("i32 0, i32 1\n", "i32 0, i32 0\n"),
            ("getelementptr { i32, i32 }", "getelementptr { i32, i8 }"),
            ("icmp slt", "icmp sle"),
            ("%a, 7", "%a, 8"),
            ("label %here, label %there", "label %there, label %here"),
            ("ret i32 %a", "ret i32 3"),
            ("alloca { i32, i32 }", "alloca { i32, i64 }"),
        ];
        for (before, after) in changes {
            let other = PROGRAM.replace(before, after);
            assert_ne!(other, PROGRAM, "{before} stands in the program");
            assert_ne!(number_of(&other), same, "{after} in place of {before}");
        }
    }
}
