//! What is wrong with an object, as far as merging it goes.

use std::fmt;

/// The places at which an object does not follow its schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeErrors(Vec<TypeError>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct TypeError {
    path: String,
    message: String,
}

impl TypeErrors {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an error at the place being walked.
    pub(crate) fn push(&mut self, message: impl Into<String>) {
        self.0.push(TypeError { path: String::new(), message: message.into() });
    }

    /// Says that the errors from a position on lie below a step.
    pub(crate) fn below(&mut self, from: usize, step: impl FnOnce() -> String) {
        if self.0.len() > from {
            let step = step();
            for error in &mut self.0[from..] {
                error.path.insert_str(0, &step);
            }
        }
    }

    /// The value if there are no errors.
    pub(crate) fn none_or<T>(self, value: T) -> Result<T, TypeErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() != 1 {
            f.write_str("errors:")?;
        }
        for error in &self.0 {
            if self.0.len() != 1 {
                f.write_str("\n  ")?;
            }
            if !error.path.is_empty() {
                write!(f, "{}: ", error.path)?;
            }
            f.write_str(&error.message)?;
        }
        Ok(())
    }
}
