//! The script by which gdb prints objects, as a section of an executable (`tally-gdb.py` beside this file).

const SCRIPT: &str = include_str!("tally-gdb.py");

/// An entry of the section `.debug_gdb_scripts`: a script in Python, which is in the section itself.
const PYTHON_TEXT: u8 = 4;

/// The IR of a module that has nothing but the section.
pub(crate) fn module() -> String {
    let mut lines = String::from("module asm \".pushsection .debug_gdb_scripts, \\22MS\\22, @progbits, 1\"\n");
    // The first line of an entry is the script's name.
    let entry = [&[PYTHON_TEXT], b"tally-gdb.py\n".as_slice(), SCRIPT.as_bytes(), &[0]].concat();
    for bytes in entry.chunks(64) {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        lines += &format!("module asm \".byte {}\"\n", numbers.join(","));
    }
    lines + "module asm \".popsection\"\n"
}
