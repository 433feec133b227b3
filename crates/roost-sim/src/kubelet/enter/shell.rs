//! The few commands that a container which runs nothing understands, as functions of what it is told.

use super::files::Files;

/// What a container knows of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) hostname: String,
    pub(super) environment: Vec<(String, String)>,
}

/// What a command said, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) code: u8,
}

/// What can be run.
const KNOWN: &str = "cat, echo, env, false, hostname, ls, pwd, sh, tar, test, true";
/// How deep shells may call shells.
const MAX_DEPTH: usize = 4;
/// What a shell ends with when there is no such command.
const NOT_FOUND: u8 = 127;

impl Output {
    fn said(text: impl Into<Vec<u8>>) -> Output {
        Output { stdout: text.into(), ..Output::default() }
    }

    fn failed(code: u8, words: &str) -> Output {
        Output { stderr: format!("{words}\n").into_bytes(), code, ..Output::default() }
    }

    fn ended(code: u8) -> Output {
        Output { code, ..Output::default() }
    }
}

/// Whether a command reads what is sent to it.
pub(super) fn reads(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let name = words.next().map(base_name);
    let rest: Vec<&str> = words.collect();
    match name {
        Some("cat") => rest.is_empty() || rest.contains(&"-"),
        Some("tar") => rest.first().is_some_and(|letters| letters.contains('x')),
        Some("sh" | "bash") => match rest.as_slice() {
            ["-c", line, ..] => parse(line, &Facts::default()).iter().any(|(_, command)| reads(&command.words)),
            _ => false,
        },
        _ => false,
    }
}

/// Whether it is a shell that takes its commands from what is sent to it.
pub(super) fn is_interactive(words: &[String]) -> bool {
    let name = words.first().map(|word| base_name(word));
    matches!(name, Some("sh" | "bash")) && !words.iter().any(|word| word == "-c")
}

/// Runs a command.
pub(super) fn run(words: &[String], input: &[u8], facts: &Facts, files: &mut Files) -> Output {
    run_at(words, input, facts, files, 0)
}

/// Runs a line as a shell does.
pub(super) fn run_line(line: &str, facts: &Facts, files: &mut Files) -> Output {
    run_script(line, &[], facts, files, 0)
}

fn run_at(words: &[String], input: &[u8], facts: &Facts, files: &mut Files, depth: usize) -> Output {
    let Some((name, rest)) = words.split_first() else { return Output::default() };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match base_name(name) {
        "true" | ":" => Output::default(),
        "false" => Output::ended(1),
        "pwd" => Output::said("/\n"),
        "hostname" => Output::said(format!("{}\n", facts.hostname)),
        "echo" => match rest.split_first() {
            Some((&"-n", rest)) => Output::said(rest.join(" ")),
            _ => Output::said(format!("{}\n", rest.join(" "))),
        },
        "env" | "printenv" => {
            let lines = facts.environment.iter().map(|(name, value)| format!("{name}={value}\n"));
            Output::said(lines.collect::<String>())
        }
        "ls" => {
            let folder = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("/");
            let mut lines = files.list(folder).join("\n");
            if !lines.is_empty() {
                lines.push('\n');
            }
            Output::said(lines)
        }
        "test" | "[" => Output::ended(u8::from(!is_so(&rest, files))),
        "cat" => concatenate(&rest, input, files),
        "tar" => archive(&rest, input, files),
        "sh" | "bash" if depth >= MAX_DEPTH => Output::failed(2, "sh: too many shells in shells"),
        "sh" | "bash" => match rest.as_slice() {
            ["-c", line, ..] => run_script(line, input, facts, files, depth + 1),
            _ => Output::failed(2, "sh: a simulated shell wants -c and a line"),
        },
        other => Output::failed(NOT_FOUND, &format!("{other}: not found: a simulated container knows {KNOWN}")),
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_so(words: &[&str], files: &Files) -> bool {
    match words {
        ["-d", path, ..] => files.is_folder(path),
        ["-f", path, ..] => files.read(path).is_some(),
        ["-e", path, ..] => files.is_folder(path) || files.read(path).is_some(),
        ["-z", text, ..] => text.is_empty(),
        ["-n", text, ..] | [text] => !text.is_empty(),
        [one, "=" | "==", other, ..] => one == other,
        [one, "!=", other, ..] => one != other,
        _ => false,
    }
}

fn concatenate(paths: &[&str], input: &[u8], files: &Files) -> Output {
    let mut output = Output::default();
    let paths = if paths.is_empty() { &["-"] } else { paths };
    for path in paths {
        match (*path, files.read(path)) {
            ("-", _) => output.stdout.extend(input),
            (_, Some(content)) => output.stdout.extend(content),
            (path, None) => {
                output.stderr.extend(format!("cat: {path}: No such file or directory\n").into_bytes());
                output.code = 1;
            }
        }
    }
    output
}

fn archive(words: &[&str], input: &[u8], files: &mut Files) -> Output {
    let Some((letters, rest)) = words.split_first() else { return Output::failed(2, "tar: what is to be done?") };
    let folder = rest.iter().position(|word| *word == "-C").and_then(|place| rest.get(place + 1)).copied();
    if letters.contains('x') {
        return match files.unpack(folder.unwrap_or("/"), input) {
            Ok(()) => Output::default(),
            Err(why) => Output::failed(2, &format!("tar: {why}")),
        };
    }
    let path = rest.iter().find(|word| !word.starts_with('-') && Some(**word) != folder);
    match path.and_then(|path| files.pack(path)) {
        Some(archive) if letters.contains('c') => Output::said(archive),
        _ => {
            let path = path.copied().unwrap_or_default();
            Output::failed(2, &format!("tar: {path}: Cannot stat: No such file or directory"))
        }
    }
}

/// When a command of a line is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    AfterSuccess,
    AfterFailure,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
    /// The file that it writes instead of saying something, and whether at its end.
    to: Option<(String, bool)>,
}

fn run_script(line: &str, input: &[u8], facts: &Facts, files: &mut Files, depth: usize) -> Output {
    let mut whole = Output::default();
    for (when, command) in parse(line, facts) {
        let wanted = match when {
            When::Always => true,
            When::AfterSuccess => whole.code == 0,
            When::AfterFailure => whole.code != 0,
        };
        if !wanted {
            continue;
        }
        if let Some("exit") = command.words.first().map(String::as_str) {
            whole.code = command.words.get(1).and_then(|code| code.parse().ok()).unwrap_or(whole.code);
            break;
        }
        let mut output = run_at(&command.words, input, facts, files, depth);
        if let Some((path, appends)) = command.to {
            let mut content = std::mem::take(&mut output.stdout);
            if appends && let Some(before) = files.read(&path) {
                content = [before, &content].concat();
            }
            if let Err(why) = files.write(&path, content) {
                output = Output::failed(1, &format!("sh: {why}"));
            }
        }
        whole.stdout.extend(output.stdout);
        whole.stderr.extend(output.stderr);
        whole.code = output.code;
    }
    whole
}

/// The commands of a line: words with quotes and variables, `;`, `&&`, `||`, `>` and `>>`.
fn parse(line: &str, facts: &Facts) -> Vec<(When, Command)> {
    let mut commands = Vec::new();
    let (mut when, mut command) = (When::Always, Command::default());
    let (mut word, mut quoted) = (String::new(), false);
    let mut redirect: Option<bool> = None;
    let mut characters = line.chars().peekable();
    let finish = |word: &mut String, quoted: &mut bool, redirect: &mut Option<bool>, command: &mut Command| {
        if !word.is_empty() || *quoted {
            match redirect.take() {
                Some(appends) => command.to = Some((std::mem::take(word), appends)),
                None => command.words.push(std::mem::take(word)),
            }
        }
        *quoted = false;
    };
    loop {
        let character = characters.next();
        match character {
            Some('\'') => {
                quoted = true;
                word.extend(characters.by_ref().take_while(|character| *character != '\''));
            }
            Some('"') => {
                quoted = true;
                while let Some(character) = characters.next().filter(|character| *character != '"') {
                    match character {
                        '$' => word.push_str(&variable(&mut characters, facts)),
                        '\\' => word.extend(characters.next()),
                        other => word.push(other),
                    }
                }
            }
            Some('$') => word.push_str(&variable(&mut characters, facts)),
            Some('\\') => word.extend(characters.next()),
            Some('>') => {
                finish(&mut word, &mut quoted, &mut redirect, &mut command);
                redirect = Some(characters.next_if_eq(&'>').is_some());
            }
            Some(';' | '\n' | '&' | '|') | None => {
                finish(&mut word, &mut quoted, &mut redirect, &mut command);
                if !command.words.is_empty() {
                    commands.push((when, std::mem::take(&mut command)));
                }
                when = match character {
                    Some('&') if characters.next_if_eq(&'&').is_some() => When::AfterSuccess,
                    Some('|') if characters.next_if_eq(&'|').is_some() => When::AfterFailure,
                    None => return commands,
                    _ => When::Always,
                };
            }
            Some(space) if space.is_whitespace() => finish(&mut word, &mut quoted, &mut redirect, &mut command),
            Some(other) => word.push(other),
        }
    }
}

/// The value of the variable whose name comes next.
fn variable(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, facts: &Facts) -> String {
    let braced = characters.next_if_eq(&'{').is_some();
    let mut name = String::new();
    while let Some(character) = characters.next_if(|one| one.is_ascii_alphanumeric() || *one == '_') {
        name.push(character);
    }
    if braced {
        characters.next_if_eq(&'}');
    }
    let known = facts.environment.iter().find(|(own, _)| *own == name);
    known.map(|(_, value)| value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_read_them() {
        let facts = Facts { hostname: "web-0".into(), environment: vec![("A".into(), "one two".into())] };
        let mut files = Files::default();
        for (line, said, code) in [
            ("echo hello", "hello\n", 0),
            ("echo \"$A\" '$A' ${A}x", "one two $A one twox\n", 0),
            ("hostname; env", "web-0\nA=one two\n", 0),
            ("false && echo a || echo b; true", "b\n", 0),
            ("echo x > /tmp/f; echo y >> /tmp/f; cat /tmp/f", "x\ny\n", 0),
            ("test -d /tmp && ls /tmp", "f\n", 0),
            ("exit 3; echo no", "", 3),
            ("nonsense", "", 127),
            ("", "", 0),
            ("\"unclosed", "", 127),
        ] {
            let output = run_line(line, &facts, &mut files);
            assert_eq!((String::from_utf8_lossy(&output.stdout).as_ref(), output.code), (said, code), "{line}");
        }
    }

    #[test]
    fn only_some_commands_read() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        assert!(reads(&words("cat")) && reads(&words("tar -xmf - -C /tmp")) && !reads(&words("cat /etc/hosts")));
        assert!(reads(&["sh".into(), "-c".into(), "cat > /tmp/x".into()]));
        assert!(is_interactive(&words("/bin/sh")) && !is_interactive(&words("sh -c ls")));
        let mut files = Files::default();
        let nested = "sh -c 'sh -c \"sh -c sh\"'".to_owned();
        assert_ne!(run(&["sh".into(), "-c".into(), nested], &[], &Facts::default(), &mut files).code, 0);
    }
}
