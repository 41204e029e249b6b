//! The options of a lowering as text, for tools that have no command line of ours: a pass of `opt`, a compiler's variable, C.
//!
//! ```text
//!   plan=refcount-prompt;roots=auto;zeal
//! ```
//!
//! Words stand between semicolons or blanks. They are the long options of the `tally` command, and mean what they mean there.

use clap::ValueEnum;

use crate::emit::level::Level;
use crate::lower::{Plan, STRATEGY};
use crate::pipeline::CompileOptions;

/// The words, for messages and help.
pub(crate) const KNOWN: &str = "plan=PLAN, roots=typed|auto, gc-name=NAME=PLAN, save-counts=SAVINGS, zeal, stack-objects=on|off, \
                         stack-maps=compact|llvm, no-warnings, \
                         and O0, O1, O2, O3 or Os";

/// Reads words of options over those that are there.
///
/// # Errors
/// The word that is not understood, and why.
pub fn read(text: &str, options: &mut CompileOptions) -> Result<(), String> {
    let words = text.split(|letter: char| letter == ';' || letter.is_whitespace());
    words.filter(|word| !word.is_empty()).try_for_each(|word| set(word, options))
}

fn set(word: &str, options: &mut CompileOptions) -> Result<(), String> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let wrong = |why: String| format!("the option {word:?}: {why}");
    match (name, value) {
        ("plan", Some(plan)) => options.gc_names.insert(0, (STRATEGY.to_owned(), plan.parse().map_err(wrong)?)),
        ("gc-name", Some(pair)) => options.gc_names.push(gc_name(pair).map_err(wrong)?),
        ("roots", Some(which)) => options.roots = ValueEnum::from_str(which, false).map_err(wrong)?,
        ("save-counts", Some(savings)) => options.patterns = Some(savings.parse().map_err(wrong)?),
        ("zeal", None) => options.zeal = true,
        ("stack-objects", None | Some("on")) => options.stack_objects = true,
        ("stack-objects", Some("off")) => options.stack_objects = false,
        ("stack-maps", Some(format)) => options.maps = ValueEnum::from_str(format, false).map_err(wrong)?,
        ("no-warnings", None) => options.warns = false,
        (level, None) if level.starts_with('O') => {
            options.level = <Level as ValueEnum>::from_str(&level[1..], false).map_err(wrong)?;
        }
        _ => return Err(wrong(format!("is not known; there are {KNOWN}"))),
    }
    Ok(())
}

/// Reads `NAME=PLAN`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn gc_name(text: &str) -> Result<(String, Plan), String> {
    match text.split_once('=') {
        Some((name, plan)) if !name.is_empty() => Ok((name.to_owned(), plan.parse()?)),
        _ => Err(format!("write it as NAME=PLAN, with the plan {}", Plan::ALL.map(Plan::strategy).join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::object_file::MapFormat;
    use crate::lower::{Patterns, Roots};

    #[test]
    fn words_are_options_of_the_command() {
        let mut options = CompileOptions { warns: true, ..CompileOptions::default() };
        read("plan=refcount-prompt;roots=auto zeal;save-counts=none\nno-warnings; O3 gc-name=mine=trace", &mut options)
            .unwrap();
        let plans = [("refcount".to_owned(), Plan::Prompt), ("mine".to_owned(), Plan::Trace)];
        assert_eq!(options.gc_names, plans);
        assert_eq!((options.roots, options.level), (Roots::Auto, Level::O3));
        assert_eq!(options.patterns, Some(Patterns::NONE));
        assert!(options.zeal && !options.warns && options.stack_objects);
        read("stack-objects=off stack-maps=llvm", &mut options).unwrap();
        assert!(!options.stack_objects && options.maps == MapFormat::Llvm);
        read("", &mut options).unwrap();
    }

    #[test]
    fn words_that_are_not_understood_are_named() {
        for wrong in ["plans=trace", "plan=fast", "zeal=yes", "O7", "Ofast", "roots=some", "gc-name=mine", "prompt"] {
            let message = read(&format!("zeal {wrong}"), &mut CompileOptions::default()).unwrap_err();
            assert!(message.contains(&format!("{wrong:?}")), "{message}");
        }
    }

    #[test]
    fn gc_names_are_mapped_on_the_plan_there_is() {
        assert_eq!(gc_name("jblab-gc=refcount"), Ok(("jblab-gc".to_owned(), Plan::Deferred)));
        for wrong in ["jblab-gc", "=refcount", "jblab-gc=mark-sweep"] {
            assert!(gc_name(wrong).is_err(), "{wrong}");
        }
    }
}
