//! Placeholders inside of texts.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Normalizer, credentials};

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:?\d\d))( UTC)?( m=\+[\d.]+)?"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+"));
static PEM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\n?"));
static VOLUME: LazyLock<Regex> = LazyLock::new(|| pattern(r"kube-api-access-[a-z0-9]{5}"));
static POINTER: LazyLock<Regex> = LazyLock::new(|| pattern(r"0x[0-9a-f]{6,}"));
static TOO_OLD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(too (?:old|large|high) resource version: )\d+((?: \(|, current: )\d+\)?)?"));
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"X509SHA256=[0-9a-f]{64}"));
/// The type of a rule's object is named after the nanosecond of its making.
static SELF_TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bselfType\d+\b"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)(resource ?version(?: in (?:the precondition|record|object meta))?[\\": (]*)(\d+)"#)
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are constants")
}

impl Normalizer {
    /// Replaces in a text.
    pub fn text(&mut self, text: &str) -> String {
        let text = TOKEN.replace_all(text, |found: &Captures| credentials::describe_token(self, &found[0]));
        let text = PEM.replace_all(&text, "<certificates>");
        let text = UID.replace_all(&text, |found: &Captures| {
            if self.literals.contains(&found[0]) {
                found[0].to_owned()
            } else {
                format!("<uid {}>", self.uids.number(&found[0]))
            }
        });
        let text = TIME.replace_all(&text, |found: &Captures| self.time(found));
        let text = VOLUME.replace_all(&text, "kube-api-access-<random>");
        let text = CREDENTIAL.replace_all(&text, "X509SHA256=<hash>");
        let text = POINTER.replace_all(&text, "<pointer>");
        let text = SELF_TYPE.replace_all(&text, "selfType");
        let text = TOO_OLD.replace_all(&text, "${1}<version>");
        let mut text = VERSION
            .replace_all(&text, |found: &Captures| {
                let mut version = found[2].to_owned();
                self.version(&mut version);
                format!("{}{version}", &found[1])
            })
            .into_owned();
        for prefix in &self.prefixes {
            let generated = &mut self.generated;
            text = prefix
                .replace_all(&text, |found: &Captures| format!("<generated {}>", generated.number(&found[0])))
                .into_owned();
        }
        for (name, number) in &self.generated.numbers {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), &format!("<generated {number}>"));
            }
        }
        for (address, number) in &self.addresses.numbers {
            if text.contains(address.as_str()) {
                text = text.replace(address.as_str(), &format!("<address {number}>"));
            }
        }
        text
    }

    fn time(&self, found: &Captures) -> String {
        if self.literals.contains(&found[0]) {
            return found[0].to_owned();
        }
        match found.get(1).map(|fraction| fraction.len() - 1) {
            None => "<time>".to_owned(),
            Some(6) => "<time with microseconds>".to_owned(),
            Some(digits) => format!("<time with {digits} digits>"),
        }
    }
}
