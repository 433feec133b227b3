//! Kernel arguments: what a user may ask for, and what comes of it.

/// What is done with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Put behind all others.
    Append,
    /// Takes the place of every argument of the same name; put behind all others when there is none.
    Replace,
    /// Every argument that is equal, or has this name, goes.
    Delete,
}

/// One wish about the kernel's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelArgument {
    /// What is done.
    pub operation: Operation,
    /// With what: `name` or `name=value`.
    pub value: String,
}

/// Why an argument cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Empty, with blanks outside of quotes, with an open quote, or with something unprintable.
    #[error("{0:?} is not one kernel argument")]
    Malformed(String),
}

/// The arguments after all wishes, separated by single blanks.
pub fn apply(current: &str, wishes: &[KernelArgument]) -> Result<String, ArgumentError> {
    let mut arguments: Vec<&str> = split(current);
    for KernelArgument { operation, value } in wishes {
        if !is_one_argument(value) {
            return Err(ArgumentError::Malformed(value.clone()));
        }
        match operation {
            Operation::Append => arguments.push(value),
            Operation::Delete => {
                arguments.retain(|argument| argument != value && (value.contains('=') || name(argument) != value));
            }
            Operation::Replace => {
                let first = arguments.iter().position(|argument| name(argument) == name(value));
                arguments.retain(|argument| name(argument) != name(value));
                arguments.insert(first.unwrap_or(arguments.len()), value);
            }
        }
    }
    Ok(arguments.join(" "))
}

/// Without control characters and other letters than ASCII, which boot loaders do not agree on.
fn is_one_argument(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && {
        let mut parts = value.split('"');
        let outside_has_blank = parts.by_ref().step_by(2).any(|part| part.contains(' '));
        !outside_has_blank && value.matches('"').count().is_multiple_of(2)
    }
}

fn name(argument: &str) -> &str {
    argument.split('=').next().unwrap_or(argument)
}

/// Arguments are separated by blanks, but not by those in quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    text.split(move |character: char| {
        quoted ^= character == '"';
        !quoted && character.is_ascii_whitespace()
    })
    .filter(|argument| !argument.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{ArgumentError, KernelArgument, Operation, apply};

    #[test]
    fn wishes_are_granted_in_order() {
        use Operation::{Append, Delete, Replace};
        let base = "quiet console=tty0 dyndbg=\"file a.c +p\" console=ttyS0 rw";
        for (operation, value, expected) in [
            (Append, "nosmt", "quiet console=tty0 dyndbg=\"file a.c +p\" console=ttyS0 rw nosmt"),
            (Append, "a=\"b c\"", "quiet console=tty0 dyndbg=\"file a.c +p\" console=ttyS0 rw a=\"b c\""),
            (Delete, "console=ttyS0", "quiet console=tty0 dyndbg=\"file a.c +p\" rw"),
            (Delete, "console", "quiet dyndbg=\"file a.c +p\" rw"),
            (Delete, "absent", base),
            (Replace, "console=hvc0", "quiet console=hvc0 dyndbg=\"file a.c +p\" rw"),
            (Replace, "ro", "quiet console=tty0 dyndbg=\"file a.c +p\" console=ttyS0 rw ro"),
        ] {
            let wish = KernelArgument { operation, value: value.to_owned() };
            assert_eq!(apply(base, &[wish]).unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn two_arguments_are_not_one() {
        for value in ["", " ", "a b", "a\nb", "\"", "a=\"b", "a=\"b\" c", "a\tb", "\u{e9}", "a=\"b\nc\""] {
            let wish = KernelArgument { operation: Operation::Append, value: value.to_owned() };
            assert_eq!(apply("", &[wish]), Err(ArgumentError::Malformed(value.to_owned())), "{value:?}");
        }
    }
}
