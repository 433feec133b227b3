//! Values that must not reach a log.

use std::fmt;

/// A value that prints as `[redacted]` and is read only on purpose.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the place that really needs it.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Gives up the protection.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_print() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {secret} {:?}", Some(&secret)), "[redacted] [redacted] Some([redacted])");
        assert_eq!(*secret.expose(), "hunter2");
    }
}
