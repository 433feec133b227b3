//! Makes the output of commands comparable: what is random or depends on the time becomes a placeholder.

use std::sync::LazyLock;

use regex::Regex;

use super::{Step, Workplace};
use crate::differential::normalization::Normalizer;

static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[ \t(])(?:\d+[smhdy]){1,2}(?: ago)?($|[ \t)])"));
static SPACES: LazyLock<Regex> = LazyLock::new(|| pattern(r"  +"));
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+\b"));
static NODE_PORT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b3[0-2]\d{3}(/TCP|/UDP)"));
static DIFFERENCE_FILE: LazyLock<Regex> = LazyLock::new(|| pattern(r"/tmp/(LIVE|MERGED)-\d+"));
static DURATION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+(\.\d+)?(ms|µs)\b"));
static SUFFIX: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b([a-z0-9-]+-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"));
static LONG_DATE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"));
static SHORT_DATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are constants")
}

/// Cleans what the commands of one journey on one plane write.
#[derive(Debug)]
pub struct Cleaner {
    normalizer: Normalizer,
    directory: String,
    server: String,
}

impl Cleaner {
    /// A cleaner for one workplace.
    pub fn new(workplace: &Workplace) -> Self {
        Self {
            normalizer: Normalizer::new(String::new()),
            directory: workplace.directory().display().to_string(),
            server: workplace.server().to_owned(),
        }
    }

    /// The output with placeholders.
    pub fn clean(&mut self, text: &str, step: &Step) -> String {
        let text = text.replace(&self.directory, "<directory>").replace(&self.server, "<server>");
        let text = text.replace(self.server.trim_start_matches("https://"), "<server>");
        let text = DIFFERENCE_FILE.replace_all(&text, "/tmp/$1");
        let text = LONG_DATE.replace_all(&text, "<time>");
        let text = SHORT_DATE.replace_all(&text, "<log> ");
        let text = self.normalizer.text(&text);
        let text = ADDRESS.replace_all(&text, "<address>");
        let text = NODE_PORT.replace_all(&text, "<port>$1");
        let text = DURATION.replace_all(&text, "<duration>");
        let text = SUFFIX.replace_all(&text, "$1<random>");
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !step.ignored().iter().any(|part| line.contains(part.as_str())))
            .map(|line| {
                // Ages that touch are separated by one blank, which the first match has used up.
                let once = AGE.replace_all(line, "$1<age>$2");
                let twice = AGE.replace_all(&once, "$1<age>$2");
                SPACES.replace_all(twice.trim_end(), "  ").into_owned()
            })
            .collect();
        if step.is_unordered() {
            lines.sort();
        }
        lines.join("\n")
    }
}
