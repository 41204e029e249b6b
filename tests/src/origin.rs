//! The origin of a random program, in a form that can be printed, typed and replayed: `sliced/17/42/1500` is program
//! 42 of seed 17, of at most 1500 ops, in the setup `sliced`.
//!
//! `check_series` prints it with a failure, `cargo xtask replay` reads it. Program n of a seed is always the same one,
//! as long as the strategies are.

use std::fmt;
use std::str::FromStr;

use crate::op::Op;
use crate::setup::Setup;
use crate::strategies::nth_program;

/// The origin of a random program: `SETUP/SEED/NUMBER/LONGEST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Name of the setup.
    pub setup: String,
    /// The series.
    pub seed: u64,
    /// The program's number in it.
    pub number: u64,
    /// Ops at most.
    pub longest: usize,
}

impl Origin {
    /// The program.
    pub fn program(&self) -> Vec<Op> {
        nth_program(self.seed, self.number, self.longest)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.setup, self.seed, self.number, self.longest)
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [setup, seed, number, longest] = parts[..] else {
            return Err(format!("`{text}` is not SETUP/SEED/NUMBER/LONGEST, such as sliced/17/42/1500"));
        };
        let whole = |part: &str| part.parse::<u64>().map_err(|_| format!("`{part}` in `{text}` is no number"));
        Setup::named(setup)?;
        let longest = usize::try_from(whole(longest)?).map_err(|error| error.to_string())?;
        Ok(Origin { setup: setup.to_owned(), seed: whole(seed)?, number: whole(number)?, longest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_survives_its_text_form_and_a_wrong_one_says_what_is_wrong() {
        let origin = Origin { setup: "prompt-zeal".into(), seed: 17, number: 4, longest: 60 };
        assert_eq!(origin.to_string().parse(), Ok(origin));
        assert!("slicd/1/2/3".parse::<Origin>().unwrap_err().contains("`slicd`"));
        assert!("sliced/1/two/3".parse::<Origin>().unwrap_err().contains("`two`"));
        assert!("sliced/1".parse::<Origin>().unwrap_err().contains("SETUP/SEED/NUMBER/LONGEST"));
    }
}
