//! What an evaluation costs, counted as cel-go counts it, and what it may do at most.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::constant::is_constant;
use super::value::{EvalError, Value};
use crate::pattern::Matcher;

/// Comparisons and copied elements that costs do not see. Only expressions made to burn time come near.
const MAX_WORK: u64 = 20_000_000;

/// Text or lists longer than this are not made.
const MAX_SIZE: u64 = 16 << 20;

/// Different patterns that are not literals, per evaluation. Compiling one takes far longer than its cost says.
const MAX_DYNAMIC_PATTERNS: usize = 64;

const LIST_COST: u64 = 10;
const TRAVERSAL: f64 = 0.1;
const REGEX: f64 = 0.25;

/// Counts the cost of one evaluation.
pub(crate) struct Meter {
    cost: Cell<u64>,
    limit: u64,
    work: Cell<u64>,
    patterns: RefCell<HashMap<String, Result<Arc<Matcher>, String>>>,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { cost: Cell::new(0), limit, work: Cell::new(0), patterns: RefCell::default() }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost.get()
    }

    pub(crate) fn charge(&self, cost: u64) -> Result<(), EvalError> {
        let total = self.cost.get().saturating_add(cost);
        self.cost.set(total);
        if total > self.limit { Err(EvalError::CostExceeded) } else { Ok(()) }
    }

    /// Counts effort that has no cost.
    pub(crate) fn work(&self, amount: u64) -> Result<(), EvalError> {
        let total = self.work.get().saturating_add(amount);
        self.work.set(total);
        if total > MAX_WORK { Err(EvalError::CostExceeded) } else { Ok(()) }
    }

    /// Makes sure that text or a list of a size may be made.
    pub(crate) fn size(&self, size: u64) -> Result<(), EvalError> {
        if size > MAX_SIZE { Err(EvalError::CostExceeded) } else { self.work(size / 16) }
    }

    /// A pattern that is not a literal, compiled at most once per evaluation.
    pub(crate) fn pattern(&self, pattern: &str) -> Result<Arc<Matcher>, EvalError> {
        let mut patterns = self.patterns.borrow_mut();
        if let Some(known) = patterns.get(pattern) {
            return known.clone().map_err(EvalError::Failed);
        }
        if patterns.len() >= MAX_DYNAMIC_PATTERNS {
            return Err(EvalError::CostExceeded);
        }
        // Large expressions are for schemas; one made up while evaluating would only burn time.
        let compiled = match Matcher::compile(pattern) {
            Ok(matcher) if matcher.is_large() => return Err(EvalError::CostExceeded),
            Ok(matcher) => Ok(Arc::new(matcher)),
            Err(words) => Err(words),
        };
        patterns.insert(pattern.to_owned(), compiled.clone());
        compiled.map_err(EvalError::Failed)
    }
}

fn traversal(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// The cost of a call whose arguments have been evaluated.
pub(crate) fn call_cost(
    function: &str,
    overload: &str,
    args: &[Result<Value<'_>, EvalError>],
    result: &Result<Value<'_>, EvalError>,
) -> u64 {
    let size = |index: usize| args.get(index).map_or(0, size_of);
    if let Some(cost) = overload_cost(overload, args, result) {
        return cost;
    }
    if let Some(cost) = library_cost(function, overload, args, result) {
        return cost;
    }
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
        | "string_format" => traversal(size(0), TRAVERSAL),
        "in_list" => size(1),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => traversal(size(0).min(size(1)), TRAVERSAL),
        "add_string" | "add_bytes" => traversal(size(0) + size(1), TRAVERSAL),
        "matches_string" => regex_cost(size(0), size(1)),
        "contains_string" => traversal(size(0), TRAVERSAL) * traversal(size(1), TRAVERSAL),
        _ => 1,
    }
}

fn size_of(value: &Result<Value<'_>, EvalError>) -> u64 {
    value.as_ref().map_or(1, Value::size)
}

fn regex_cost(text: u64, pattern: u64) -> u64 {
    traversal(1 + text, TRAVERSAL) * traversal(pattern, REGEX)
}

/// The costs that cel-go's list and set extensions declare for their overloads.
fn overload_cost(
    overload: &str,
    args: &[Result<Value<'_>, EvalError>],
    result: &Result<Value<'_>, EvalError>,
) -> Option<u64> {
    let size = |index: usize| args.get(index).map_or(0, size_of);
    let allocating = |size: u64, factor: f64| (size as f64 * factor) as u64 + 1 + LIST_COST;
    Some(match overload {
        "list_sets_contains_list" | "list_sets_intersects_list" => 1 + size(0) * size(1),
        "list_sets_equivalent_list" => 1 + size(0) * size(1) * 2,
        "list_slice" | "lists_range" | "list_reverse" => allocating(size_of(result), 1.0),
        "list_flatten" => allocating(size(0), 1.0),
        "list_flatten_int" => match args.get(1) {
            Some(Ok(Value::Int(depth))) => ((size(0) as f64 * *depth as f64) as i64).wrapping_add(11) as u64,
            _ => return None,
        },
        "list_distinct" => self_compare(args.first()?),
        _ if overload.ends_with("_sort") => self_compare(args.first()?),
        _ if overload.ends_with("_sortByAssociatedKeys") => self_compare(args.get(1)?),
        _ => return None,
    })
}

fn self_compare(list: &Result<Value<'_>, EvalError>) -> u64 {
    let size = size_of(list);
    let textual = match list {
        Ok(Value::List(list)) => {
            matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))))
        }
        _ => false,
    };
    let factor = if textual { 2.0 + TRAVERSAL } else { 2.0 };
    ((size * size) as f64 * factor) as u64 + 1 + LIST_COST
}

/// The costs that Kubernetes declares for its libraries, by function.
fn library_cost(
    function: &str,
    overload: &str,
    args: &[Result<Value<'_>, EvalError>],
    result: &Result<Value<'_>, EvalError>,
) -> Option<u64> {
    let size = |index: usize| args.get(index).map_or(0, size_of);
    let has = |count: usize| args.len() >= count;
    Some(match function {
        "check" => 350_000,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => args.first().map_or(0, traversal_cost),
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" if has(1) => traversal(size(0), TRAVERSAL),
        "replace" | "split" | "ip.isCanonical" if has(1) => traversal(size(0), 2.0 * TRAVERSAL),
        "join" if has(1) => traversal(size_of(result), 2.0 * TRAVERSAL),
        "find" | "findAll" if has(2) => regex_cost(size(0), size(1)),
        "ip" if overload == "cidr_ip" => 1,
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" if has(1) => {
            traversal(size(0), TRAVERSAL)
        }
        "containsIP" if has(2) => {
            let parsed = if overload == "cidr_contains_ip_string" { traversal(size(1), TRAVERSAL) } else { 0 };
            traversal(2 * size(0), TRAVERSAL) + parsed
        }
        "containsCIDR" if has(2) => {
            let parsed = if overload == "cidr_contains_cidr_string" { traversal(size(1), TRAVERSAL) } else { 0 };
            traversal(2 * size(0), TRAVERSAL) + traversal(size(0), TRAVERSAL) + 1 + parsed
        }
        "validate" if has(2) => match &args[0] {
            Ok(Value::Format(format)) => regex_cost(size(1), format.max_regex_size),
            _ => return None,
        },
        function if is_constant(function) => 1,
        "_==_" => match args.first() {
            Some(Ok(
                Value::Quantity(_)
                | Value::Ip(_)
                | Value::Cidr(_)
                | Value::Format(_)
                | Value::Url(_)
                | Value::Semver(_),
            )) => 1,
            _ => return None,
        },
        _ => return None,
    })
}

/// The cost of looking at all parts of a value once.
fn traversal_cost(value: &Result<Value<'_>, EvalError>) -> u64 {
    match value {
        Ok(Value::String(text)) => (text.len() as f64 * TRAVERSAL) as u64,
        Ok(Value::Bytes(bytes)) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Ok(Value::List(list)) => list.iter().map(|element| traversal_cost(&element)).sum(),
        Ok(Value::Map(map)) => map
            .keys()
            .into_iter()
            .map(|key| {
                let value = map.find(&key).map(|value| value.unwrap_or(Value::Null));
                traversal_cost(&Ok(key)) + traversal_cost(&value)
            })
            .sum(),
        _ => 1,
    }
}
