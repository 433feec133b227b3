//! The values of literals.

/// The value of a string or bytes literal, given with its prefix and quotes.
pub(super) fn unquote(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    const FAILED: &str = "unable to unescape string";
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, quoted) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let inner = ["'''", "\"\"\"", "'", "\""]
        .into_iter()
        .find_map(|quote| quoted.strip_prefix(quote)?.strip_suffix(quote))
        .ok_or(FAILED)?;
    if raw || !inner.contains('\\') {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            push(&mut out, character);
            continue;
        }
        let escape = rest.next().ok_or("unable to unescape string, found '\\' as last character")?;
        match escape {
            'a' => out.push(0x07),
            'b' => out.push(0x08),
            'f' => out.push(0x0c),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(0x0b),
            '\\' | '\'' | '"' | '`' | '?' => push(&mut out, escape),
            'x' | 'X' | 'u' | 'U' => {
                let width = match escape {
                    'u' => 4,
                    'U' => 8,
                    _ => 2,
                };
                if bytes && width > 2 {
                    return Err(FAILED);
                }
                let digits: String = rest.by_ref().take(width).collect();
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == width).ok_or(FAILED)?;
                push_code(&mut out, code, bytes)?;
            }
            '0'..='3' => {
                let digits: String = std::iter::once(escape).chain(rest.by_ref().take(2)).collect();
                let code = u32::from_str_radix(&digits, 8)
                    .ok()
                    .filter(|_| digits.len() == 3)
                    .ok_or("unable to unescape octal sequence in string")?;
                push_code(&mut out, code, bytes)?;
            }
            _ => return Err(FAILED),
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_code(out: &mut Vec<u8>, code: u32, bytes: bool) -> Result<(), &'static str> {
    if bytes {
        out.push(code as u8);
    } else {
        push(out, char::from_u32(code).ok_or("invalid unicode code point")?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unquote(r#""a\n\x41\u00e9\101""#, false).unwrap(), "a\nA\u{e9}A".as_bytes());
        assert_eq!(unquote(r"r'a\n'", false).unwrap(), br"a\n");
        assert_eq!(unquote(r"'\xff'", true).unwrap(), [0xff]);
        assert_eq!(unquote("'''a'b'''", false).unwrap(), b"a'b");
        assert!(unquote(r"'\ud800'", false).is_err());
    }
}
