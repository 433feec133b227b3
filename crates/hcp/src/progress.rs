//! Long work shown as steps: lines that are redrawn on a terminal, plain lines anywhere else. All of it on standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often the elapsed time is redrawn.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// Details beyond that are in `hcp describe`.
const LONGEST_DETAIL: usize = 160;
/// The width of a terminal that does not say.
const USUAL_WIDTH: usize = 80;

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Done,
    Failed,
}

/// One step of long work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) state: State,
    /// What it waits for, or why it failed.
    pub(crate) detail: String,
}

impl Step {
    pub(crate) fn new(name: impl Into<String>, state: State, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into() }
    }
}

/// What is shown so far.
pub(crate) struct Progress {
    started: Instant,
    terminal: bool,
    colour: bool,
    steps: Vec<(Step, Option<Duration>)>,
    drawn: usize,
}

impl Progress {
    pub(crate) fn start() -> Self {
        let terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { started: Instant::now(), terminal, colour, steps: Vec::new(), drawn: 0 }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether the elapsed time is worth redrawing.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal
    }

    /// Shows the steps as they are now. A step keeps the time at which it was first done.
    pub(crate) fn show(&mut self, steps: Vec<Step>) {
        let elapsed = self.elapsed();
        let mut next = Vec::with_capacity(steps.len());
        for step in steps {
            let before = self.steps.iter().find(|(known, _)| known.name == step.name);
            let done = match (step.state, before) {
                (State::Waiting, _) => None,
                (state, Some((known, at))) if known.state == state => *at,
                _ => Some(elapsed),
            };
            let changed = before.is_none_or(|(known, _)| *known != step);
            if changed && !self.terminal {
                eprintln!("{}", line(&step, done.unwrap_or(elapsed), false));
            }
            next.push((step, done));
        }
        self.steps = next;
        self.redraw();
    }

    /// Draws the steps again, with the time as it is.
    pub(crate) fn redraw(&mut self) {
        if !self.terminal {
            return;
        }
        let elapsed = self.elapsed();
        let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { USUAL_WIDTH } else { width };
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\x1b[{}A", self.drawn);
        }
        for (step, done) in &self.steps {
            let plain: String = line(step, done.unwrap_or(elapsed), true).chars().take(width - 1).collect();
            text.push_str("\x1b[2K");
            text.push_str(&if self.colour { coloured(step.state, &plain) } else { plain });
            text.push('\n');
        }
        self.drawn = self.steps.len();
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}

fn line(step: &Step, elapsed: Duration, live: bool) -> String {
    let mark = match step.state {
        State::Waiting => "waiting",
        State::Done => "done",
        State::Failed => "failed",
    };
    let detail = if step.detail.is_empty() { String::new() } else { format!("  {}", shortened(&step.detail)) };
    let line = format!("{mark:<8}{:<18}{:>8}{detail}", step.name, seconds(elapsed));
    if live { line } else { line.trim_end().to_owned() }
}

fn coloured(state: State, line: &str) -> String {
    let colour = match state {
        State::Waiting => "33",
        State::Done => "32",
        State::Failed => "31",
    };
    // The mark is eight characters wide; only that is coloured.
    let split = line.char_indices().nth(8).map_or(line.len(), |(index, _)| index);
    format!("\x1b[{colour}m{}\x1b[0m{}", &line[..split], &line[split..])
}

/// A text on one line, cut where it is longer than anybody reads there.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Elapsed time for people: milliseconds while those matter.
pub(crate) fn seconds(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{}m{:02}s", millis / 60_000, millis / 1_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{State, Step, coloured, line, seconds};

    #[test]
    fn lines_say_in_words_what_colours_say() {
        let step = Step::new("etcd", State::Waiting, "Waiting for\n quorum");
        assert_eq!(
            line(&step, Duration::from_millis(120), false),
            "waiting etcd                120 ms  Waiting for quorum"
        );
        assert_eq!(coloured(State::Done, "done    etcd"), "\x1b[32mdone    \x1b[0metcd");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(999)), "999 ms");
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2m05s");
    }
}
