//! The parameters of paths and queries.

use std::borrow::Cow;

use super::route::{Parameter, Words};
use crate::table::Shape;

/// The object in the path.
pub(super) fn name(kind: &str) -> Parameter {
    in_path("name", Cow::Owned(format!("name of the {kind}")))
}

/// The namespace in the path.
pub(super) fn namespace() -> Parameter {
    in_path("namespace", Cow::Borrowed("object name and auth scope, such as for teams and projects"))
}

/// The rest of the path, which is handed on.
pub(super) fn path() -> Parameter {
    in_path("path", Cow::Borrowed("path to the resource"))
}

/// Whether the answer is written for people.
pub(super) fn pretty() -> Parameter {
    let words = Words::Are(Cow::Borrowed(
        "Whether the answer is indented. It is for browsers, curl and wget unless this is 'false'.",
    ));
    Parameter { name: "pretty", in_path: false, of_type: "string", words }
}

fn in_path(name: &'static str, words: Cow<'static, str>) -> Parameter {
    Parameter { name, in_path: true, of_type: "string", words: Words::Are(words) }
}

/// The fields of an options kind that a query can hold.
pub(super) fn options(kind: &str) -> impl Iterator<Item = Parameter> {
    let deletion = kind == "DeleteOptions";
    let fields = crate::type_of("v1", kind).map(|ty| ty.fields).unwrap_or_default();
    fields.iter().filter_map(move |field| {
        let of_type = match field.ty {
            Shape::List(element) => of_type(element.ty),
            plain => of_type(plain),
        }?;
        let words = if deletion { Words::OfDeletion } else { Words::Are(Cow::Borrowed(words(field.json))) };
        Some(Parameter { name: field.json, in_path: false, of_type, words })
    })
}

fn of_type(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::String => Some("string"),
        Shape::Bool => Some("boolean"),
        Shape::Int32 | Shape::Int64 => Some("integer"),
        _ => None,
    }
}

/// What a query parameter means.
fn words(name: &str) -> &'static str {
    match name {
        "allowWatchBookmarks" => {
            "Whether a watch may carry events of type BOOKMARK, which hold nothing but a newer resourceVersion. They come \
             when the server likes."
        }
        "command" => "The program to run and its arguments, one parameter each. No shell takes part.",
        "container" => "Which container of the pod. It may be left out when there is one.",
        "continue" => {
            "Where to go on with a list: the value from the metadata of the page before. All other parameters stay the \
             same. A value that has expired is answered with 410 and a new one, which goes on from a newer state."
        }
        "dryRun" => "With 'All', everything happens but for the write. Other values are refused.",
        "fieldManager" => {
            "The name under which changed fields are owned: at most 128 printable characters. Apply requests must have it."
        }
        "fieldSelector" => "Only objects whose fields match. All objects by default.",
        "fieldValidation" => {
            "What to do about unknown and repeated fields: 'Ignore' drops them, 'Warn' drops them and says so in warning \
             headers, 'Strict' refuses the request. The default is 'Warn'."
        }
        "follow" => "Whether to go on with what the container writes from now on.",
        "force" => "Whether an apply takes over fields that others own. Only apply requests may have it.",
        "insecureSkipTLSVerifyBackend" => {
            "Whether the serving certificate of the kubelet goes unchecked. Anyone on the way could then write the log."
        }
        "labelSelector" => "Only objects whose labels match. All objects by default.",
        "limit" => {
            "How many objects a page of a list holds at most. If there are more, the metadata says in 'continue' where to \
             go on; all pages show the same state."
        }
        "limitBytes" => "How many bytes of the log to return at most.",
        "path" => "The path to ask the target for, with its query.",
        "ports" => "The ports to forward to, one parameter each.",
        "previous" => "Whether to read the log of the container that ran before this one.",
        "resourceVersion" => {
            "How new the answer must be, together with resourceVersionMatch; for a watch, the state after which events are \
             of interest."
        }
        "resourceVersionMatch" => "How the resourceVersion of a list is meant: 'Exact' or 'NotOlderThan'.",
        "sendInitialEvents" => {
            "Whether a watch begins with the objects that are there, and a bookmark after them. Needs resourceVersionMatch \
             to be 'NotOlderThan'."
        }
        "shardSelector" => {
            "Only objects whose hash lies in one of the given ranges, written as shardRange() calls joined by '||'. For \
             servers that share out large lists."
        }
        "sinceSeconds" => "How far back the log goes, in seconds.",
        "stderr" => "Whether standard error is connected.",
        "stdin" => "Whether standard input is connected.",
        "stdout" => "Whether standard output is connected.",
        "stream" => "Which part of the log: 'All', 'Stdout' or 'Stderr'.",
        "tailLines" => "How many lines from the end of the log to return.",
        "timeoutSeconds" => "After how many seconds the list or watch ends in any case.",
        "timestamps" => "Whether each line of the log begins with its time.",
        "tty" => "Whether the program gets a terminal.",
        "watch" => "Whether to stream changes after resourceVersion rather than list.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_words() {
        for kind in [
            "ListOptions",
            "GetOptions",
            "CreateOptions",
            "UpdateOptions",
            "PatchOptions",
            "PodLogOptions",
            "PodExecOptions",
            "PodAttachOptions",
            "PodPortForwardOptions",
            "PodProxyOptions",
            "NodeProxyOptions",
            "ServiceProxyOptions",
        ] {
            let parameters: Vec<Parameter> = options(kind).collect();
            assert!(!parameters.is_empty(), "{kind}");
            for parameter in parameters {
                assert!(parameter.words != Words::Are(Cow::Borrowed("")), "{kind} {}", parameter.name);
            }
        }
    }
}
