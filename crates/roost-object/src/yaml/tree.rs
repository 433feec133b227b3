//! A document as nodes, before aliases are followed and scalars get a meaning.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Tag};

use super::YamlError;

/// The nodes of the first document of a text.
pub(super) struct Tree<'t> {
    pub(super) nodes: Vec<Node<'t>>,
    pub(super) root: Option<usize>,
    /// By anchor number: the node and the anchor's name.
    pub(super) anchors: Vec<(usize, Cow<'t, str>)>,
}

pub(super) struct Node<'t> {
    pub(super) line: usize,
    pub(super) content: Content<'t>,
}

pub(super) enum Content<'t> {
    Scalar(Scalar<'t>),
    Sequence(Vec<usize>),
    Mapping(Vec<(usize, usize)>),
    Alias(usize),
}

pub(super) struct Scalar<'t> {
    pub(super) text: Cow<'t, str>,
    /// Whether it stands without quotes and without a tag, so that its meaning follows from its looks.
    pub(super) plain: bool,
    pub(super) tag: ScalarTag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarTag {
    None,
    Str,
    Bool,
    Int,
    Float,
    Null,
    Binary,
    Timestamp,
    Merge,
    /// Anything else, which says nothing about the value.
    Other,
}

impl Node<'_> {
    pub(super) fn is_merge(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.text == "<<" && (scalar.plain || scalar.tag == ScalarTag::Merge),
            _ => false,
        }
    }

    pub(super) fn is_mapping(&self) -> bool {
        matches!(self.content, Content::Mapping(_))
    }
}

impl<'t> Tree<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, YamlError> {
        let options = granit_parser::options! {
            emit_comments: false,
            emit_anchor_events: true,
            emit_unresolved_aliases: true,
        };
        let mut tree = Self { nodes: Vec::new(), root: None, anchors: Vec::new() };
        let mut numbers = HashMap::new();
        // Each open collection, and for a mapping the key that waits for its value.
        let mut open: Vec<(usize, Option<usize>)> = Vec::new();
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| syntax_error(&error))?;
            let line = span.start.line();
            let content = match event {
                Event::Scalar(text, style, _, tag) => {
                    let tag = scalar_tag(tag.as_deref());
                    let plain = style == ScalarStyle::Plain && tag == ScalarTag::None;
                    Content::Scalar(Scalar { text, plain, tag })
                }
                Event::SequenceStart(..) => Content::Sequence(Vec::new()),
                Event::MappingStart(..) => Content::Mapping(Vec::new()),
                Event::Alias(id) => match numbers.get(&id) {
                    Some(&number) => Content::Alias(number),
                    None => return Err(YamlError::new("unknown anchor referenced")),
                },
                Event::UnresolvedAlias(name) => {
                    return Err(YamlError::new(format_args!("unknown anchor '{name}' referenced")));
                }
                Event::Anchor(id, name) => {
                    numbers.insert(id, tree.anchors.len());
                    tree.anchors.push((tree.nodes.len() - 1, name));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                Event::DocumentEnd => break,
                _ => continue,
            };
            let index = tree.nodes.len();
            let is_collection = matches!(content, Content::Sequence(_) | Content::Mapping(_));
            tree.nodes.push(Node { line, content });
            match open.last_mut() {
                None => tree.root = Some(index),
                Some((parent, key)) => match &mut tree.nodes[*parent].content {
                    Content::Mapping(entries) => match key.take() {
                        None => *key = Some(index),
                        Some(key) => entries.push((key, index)),
                    },
                    Content::Sequence(elements) => elements.push(index),
                    Content::Scalar(_) | Content::Alias(_) => {}
                },
            }
            if is_collection {
                open.push((index, None));
            }
        }
        Ok(tree)
    }
}

fn scalar_tag(tag: Option<&Tag>) -> ScalarTag {
    let Some(tag) = tag else { return ScalarTag::None };
    match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
        Some("str") => ScalarTag::Str,
        Some("bool") => ScalarTag::Bool,
        Some("int") => ScalarTag::Int,
        Some("float") => ScalarTag::Float,
        Some("null") => ScalarTag::Null,
        Some("binary") => ScalarTag::Binary,
        Some("timestamp") => ScalarTag::Timestamp,
        Some("merge") => ScalarTag::Merge,
        _ => ScalarTag::Other,
    }
}

/// The problem as Go's parser words it: without its context, and the most common ones in its own words.
fn syntax_error(error: &ScanError) -> YamlError {
    let info = error.info();
    let problem = match error.kind() {
        ErrorKind::UnexpectedCharacter { .. } | ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => {
            "found character that cannot start any token"
        }
        ErrorKind::UnclosedFlowCollection { open: '[' } => "did not find expected ',' or ']'",
        ErrorKind::UnclosedFlowCollection { .. } => "did not find expected ',' or '}'",
        ErrorKind::UnclosedQuotedScalar => "found unexpected end of stream",
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            "did not find expected key"
        }
        _ => match info.split_once(", ") {
            Some((context, problem)) if context.starts_with("while ") => problem,
            _ => &info,
        },
    };
    YamlError::at(error.marker().line(), problem)
}
