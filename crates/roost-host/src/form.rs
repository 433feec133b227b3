//! Files in forms, as browsers and upstream's agents send them (RFC 7578). One file a form is all that anybody here sends.

/// The field that upstream's agents send files in.
pub const FILE_FIELD: &str = "upfile";
/// More parts than that are nobody's form.
const MOST_PARTS: usize = 16;

/// A form with one file: its content type and its bytes.
pub fn write(file_name: &str, content: &[u8]) -> (String, Vec<u8>) {
    let boundary = boundary(content);
    let clean: String =
        file_name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-._".contains(*letter)).collect();
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{FILE_FIELD}\"; filename=\"{clean}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// A line that is nowhere in the content.
fn boundary(content: &[u8]) -> String {
    let mut number = content.len();
    loop {
        let boundary = format!("roost-{number:016x}");
        if find(content, boundary.as_bytes()).is_none() {
            return boundary;
        }
        number = number.wrapping_mul(31).wrapping_add(1);
    }
}

/// The file in a form; none where there is none, or the form is broken.
pub fn read<'a>(content_type: &str, body: &'a [u8]) -> Option<&'a [u8]> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut parameters = parameters.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    let (_, boundary) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let boundary = boundary.trim_matches('"');
    if boundary.is_empty() || boundary.len() > 70 {
        return None;
    }
    let line = format!("--{boundary}");
    let mut rest = &body[find(body, line.as_bytes())? + line.len()..];
    for _ in 0..MOST_PARTS {
        // Two dashes instead of a line's end say that this was the last.
        let part = rest.strip_prefix(b"\r\n")?;
        let head = find(part, b"\r\n\r\n")?;
        let end = format!("\r\n{line}");
        let content = &part[head + 4..];
        let length = find(content, end.as_bytes())?;
        let named = format!("name=\"{FILE_FIELD}\"");
        if String::from_utf8_lossy(&part[..head]).contains(&named) {
            return Some(&content[..length]);
        }
        rest = &content[length + end.len()..];
    }
    None
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_file_among_other_fields_is_found() {
        let body = b"preamble\r\n--x\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nword\r\n--x\r\n\
            Content-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\nContent-Type: application/gzip\r\n\r\na\r\nb\r\n--x--\r\n";
        assert_eq!(read("multipart/form-data; boundary=\"x\"", body), Some(b"a\r\nb".as_slice()));
        assert_eq!(read("multipart/form-data; boundary=y", body), None);
        assert_eq!(read("application/json; boundary=x", body), None);
        for length in 0..body.len() - 8 {
            assert_eq!(read("multipart/form-data; boundary=x", &body[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(content: Vec<u8>) {
            let (kind, body) = write("logs \"of\" host.tar.gz", &content);
            prop_assert_eq!(read(&kind, &body), Some(content.as_slice()));
        }
    }

    #[test]
    fn a_content_cannot_end_its_form() {
        let first = boundary(&[0; 28]);
        let content = format!("\r\n--{first}\r\n");
        assert_eq!(content.len(), 28, "this is the line that its form would have");
        let (kind, body) = write("f", content.as_bytes());
        assert!(!kind.contains(&first));
        assert_eq!(read(&kind, &body), Some(content.as_bytes()));
    }
}
