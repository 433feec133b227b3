//! The costs of calls.

use super::range::Range;
use super::{Coster, Entries, Operand, Route, extended};
use crate::cel::ast::{Expr, Kind, Literal};
use crate::cel::types::Type;

const TRAVERSAL: f64 = 0.1;
const REGEX: f64 = 0.25;

/// The longest pattern that named formats stand for.
const FORMAT_REGEX_SIZE: f64 = 128.0;

/// The cost of a call without its operands, and the size of its result if it is known.
struct Estimate {
    cost: Range,
    size: Option<Range>,
}

fn cost(cost: Range) -> Option<Estimate> {
    Some(Estimate { cost, size: None })
}

fn sized(cost: Range, size: Range) -> Option<Estimate> {
    Some(Estimate { cost, size: Some(size) })
}

impl<'s> Coster<'_, 's> {
    pub(super) fn call(&mut self, expr: &Expr, target: Option<&Expr>, function: &str, args: &[Expr]) -> Range {
        if let ("dyn", [arg]) = (function, args) {
            let sum = self.cost(arg).add(Range::ONE);
            if let Some(size) = self.size(arg) {
                self.sizes.insert(expr.id, size);
            }
            if let Some(entries) = self.entry_sizes(arg) {
                self.entries.insert(expr.id, entries);
            }
            return sum;
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            operands.push(self.operand(arg));
        }
        let overloads = self.checked.overloads(expr.id);
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let mut sum = Range::ZERO;
        let receiver = target.map(|target| {
            sum = sum.add(self.cost(target));
            self.operand(target)
        });
        let mut total = Range { min: u64::MAX, max: 0 };
        let mut result: Option<Range> = None;
        for overload in overloads {
            let estimate = self.overload(expr, function, overload, receiver.as_ref(), &operands, &costs);
            total = total.union(estimate.cost);
            if let Some(size) = estimate.size {
                result = Some(result.map_or(size, |known| known.union(size)));
            }
            let part = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(part), Some(container)) = (part, args.first()) {
                result = self.entry_sizes(container).map(|entries| entries.value);
                let route = extended(&self.route(container), part);
                self.routes.insert(expr.id, route);
            }
            if result.is_none() {
                result = self.size(expr);
            }
        }
        if let Some(size) = result {
            self.sizes.insert(expr.id, size);
        }
        sum.add(total)
    }

    fn operand<'e>(&mut self, expr: &'e Expr) -> Operand<'e, 's> {
        let mut route = self.route(expr);
        if route.first().is_some_and(|name| matches!(name.as_ref(), "@result" | "__result__")) {
            route = Route::from([]);
        }
        Operand { expr, kind: self.checked.type_of(expr).clone(), route, size: self.size(expr) }
    }

    fn overload(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Operand<'_, 's>>,
        args: &[Operand<'_, 's>],
        costs: &[Range],
    ) -> Estimate {
        let operands = costs.iter().fold(Range::ZERO, |sum, cost| sum.add(*cost));
        let estimate = self
            .extension(overload, target, args)
            .or_else(|| self.library(function, overload, target, args))
            .or_else(|| self.standard(expr, overload, target, args));
        match (overload, estimate) {
            // Operands that may not be evaluated are counted by what can happen at most.
            ("logical_or" | "logical_and", _) => {
                let first = costs.first().copied().unwrap_or(Range::ZERO);
                Estimate { cost: Range { min: first.min, max: operands.max }, size: None }
            }
            ("conditional", estimate) => {
                let [condition, truthy, falsy] = costs else { return Estimate { cost: operands, size: None } };
                let cost = condition.add(truthy.union(*falsy));
                Estimate { cost, size: estimate.and_then(|estimate| estimate.size) }
            }
            (_, Some(estimate)) => Estimate { cost: estimate.cost.add(operands), size: estimate.size },
            (_, None) => Estimate { cost: Range::ONE.add(operands), size: None },
        }
    }

    fn known(&self, operand: &Operand<'_, 's>) -> Range {
        operand.size.or_else(|| self.estimator.size(&operand.route)).unwrap_or(Range::UNKNOWN)
    }

    /// cel-go's list and set extensions.
    fn extension(
        &self,
        overload: &str,
        target: Option<&Operand<'_, 's>>,
        args: &[Operand<'_, 's>],
    ) -> Option<Estimate> {
        let allocating = |factor: f64, size: Range| sized(size.scale(factor).add(Range::fixed(11)), size);
        let squared = |operand: &Operand<'_, 's>, textual: bool| {
            let size = self.known(operand);
            allocating(if textual { 2.0 + TRAVERSAL } else { 2.0 }, size.multiply(size))
        };
        match (overload, target, args) {
            ("list_sets_contains_list" | "list_sets_intersects_list", _, [a, b]) => {
                cost(self.known(a).multiply(self.known(b)).add(Range::ONE))
            }
            ("list_sets_equivalent_list", _, [a, b]) => {
                cost(self.known(a).multiply(self.known(b)).scale(2.0).add(Range::ONE))
            }
            ("list_slice", Some(target), [start, end]) => {
                let start = int_literal(start.expr, 0);
                let end = int_literal(end.expr, self.known(target).max);
                allocating(1.0, Range::fixed(end.wrapping_sub(start)))
            }
            ("lists_range", None, [count]) => allocating(1.0, Range::fixed(int_literal(count.expr, u64::MAX))),
            ("list_reverse", Some(target), []) => allocating(1.0, self.known(target)),
            ("list_flatten", Some(target), []) => allocating(1.0, self.known(target)),
            ("list_flatten_int", Some(target), [depth]) => {
                allocating(int_literal(depth.expr, u64::MAX) as f64, self.known(target))
            }
            ("list_distinct", Some(target), []) => squared(target, false),
            (_, Some(target), []) if overload.ends_with("_sort") => squared(target, is_textual(overload)),
            (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => squared(keys, is_textual(overload)),
            _ => None,
        }
    }

    /// The libraries of Kubernetes.
    fn library(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Operand<'_, 's>>,
        args: &[Operand<'_, 's>],
    ) -> Option<Estimate> {
        let first = args.first().map(|arg| self.known(arg));
        let receiver = target.map(|target| self.known(target));
        match function {
            "check" => cost(Range::fixed(350_000)),
            "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery" => cost(Range::ONE),
            "fieldSelector" | "labelSelector" => {
                let size = first?;
                cost(Range::fixed(10).add(size.scale(TRAVERSAL)).add(size.scale(0.5).scale(50.0)))
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let (target, size) = (target?, receiver?);
                match self.element(target) {
                    Some((kind, element)) => {
                        let textual = matches!(kind, Type::String | Type::Bytes);
                        let each = if textual { Range::ONE.add(element.scale(TRAVERSAL)) } else { Range::ONE };
                        cost(size.multiply(each))
                    }
                    None => cost(size.scale(TRAVERSAL)),
                }
            }
            "url" => sized(first?.scale(TRAVERSAL), first?),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => sized(receiver?.scale(TRAVERSAL), receiver?),
            "replace" => {
                let [old, new, ..] = args else { return None };
                let result = replaced(receiver?, self.known(old), self.known(new));
                sized(receiver?.scale(2.0 * TRAVERSAL), result)
            }
            "split" => {
                let max =
                    args.get(1).and_then(|limit| literal_int(limit.expr)).map_or(receiver?.max, |limit| limit as u64);
                sized(receiver?.scale(2.0 * TRAVERSAL), Range { min: 0, max })
            }
            "join" => {
                let count = receiver?;
                let mut size = self.element(target?).map_or(Range::ZERO, |(_, element)| count.multiply(element));
                if let Some(separator) = first {
                    let separators = Range { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
                    size = size.add(separator.multiply(separators));
                }
                sized(size.scale(TRAVERSAL), size)
            }
            "find" | "findAll" => {
                let text = receiver?.add(Range::ONE).scale(TRAVERSAL);
                sized(text.multiply(first?.scale(REGEX)), Range { min: 0, max: receiver?.max })
            }
            "ip" if overload == "cidr_ip" => cost(Range::ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                cost(first?.scale(TRAVERSAL))
            }
            "ip.isCanonical" => cost(first?.scale(2.0 * TRAVERSAL)),
            "containsIP" => {
                let parsed = if overload == "cidr_contains_ip_string" { first?.scale(TRAVERSAL) } else { Range::ZERO };
                cost(Range { min: 8, max: 32 }.scale(TRAVERSAL).add(parsed))
            }
            "containsCIDR" => {
                let parsed =
                    if overload == "cidr_contains_cidr_string" { first?.scale(TRAVERSAL) } else { Range::ZERO };
                let address = Range { min: 4, max: 16 };
                cost(address.add(address).scale(TRAVERSAL).add(address.scale(TRAVERSAL)).add(Range::ONE).add(parsed))
            }
            "validate" => cost(first?.scale(TRAVERSAL).scale(FORMAT_REGEX_SIZE * REGEX)),
            "_==_" => {
                let [left, right] = args else { return None };
                if !left.kind.is_exactly(&right.kind) {
                    return None;
                }
                match &left.kind {
                    Type::Opaque("net.IP" | "net.CIDR") => cost(Range::ONE),
                    Type::Object(object) => match object.name() {
                        "kubernetes.NamedFormat" => cost(Range { min: 1, max: 64 }.scale(TRAVERSAL)),
                        "kubernetes.URL" => {
                            let max = right.size.map_or(1, |size| size.max);
                            cost(Range { min: 1, max }.scale(TRAVERSAL))
                        }
                        name if name.starts_with("kubernetes.") => cost(Range::ONE),
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The type and size of a list's elements; none for what is not a list.
    fn element(&self, list: &Operand<'_, 's>) -> Option<(Type<'s>, Range)> {
        let kind = match &list.kind {
            Type::List(element) | Type::Optional(element) => element.as_ref().clone(),
            Type::Map(key, _) => key.as_ref().clone(),
            _ => return None,
        };
        let route = if list.route.is_empty() { Route::from([]) } else { extended(&list.route, "@items") };
        Some((kind, self.estimator.size(&route).unwrap_or(Range::UNKNOWN)))
    }

    /// The standard library.
    fn standard(
        &mut self,
        expr: &Expr,
        overload: &str,
        target: Option<&Operand<'_, 's>>,
        args: &[Operand<'_, 's>],
    ) -> Option<Estimate> {
        let size = |operand: &Operand<'_, 's>| operand.size.unwrap_or(Range::UNKNOWN);
        match (overload, target, args) {
            ("string_format", Some(target), _) => cost(size(target).scale(TRAVERSAL)),
            ("string_to_bytes", _, [arg]) => {
                let given = size(arg);
                sized(given.scale(TRAVERSAL), Range { min: given.min, max: given.max.wrapping_mul(4) })
            }
            ("bytes_to_string", _, [arg]) => {
                let given = size(arg);
                sized(given.scale(TRAVERSAL), Range { min: given.min / 4, max: given.max })
            }
            ("strings_quote", _, [arg]) => {
                let given = size(arg);
                let quoted = Range { min: given.min.wrapping_add(2), max: given.max.wrapping_mul(2).wrapping_add(2) };
                sized(given.scale(TRAVERSAL), quoted)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => cost(size(arg).scale(TRAVERSAL)),
            ("in_list", _, [_, list]) => cost(size(list).scale(1.0)),
            ("matches_string", Some(target), [pattern]) => {
                let text = size(target).add(Range::ONE).scale(TRAVERSAL);
                cost(text.multiply(size(pattern).scale(REGEX)))
            }
            ("contains_string", Some(target), [part]) => {
                cost(size(target).scale(TRAVERSAL).multiply(size(part).scale(TRAVERSAL)))
            }
            ("conditional", _, [_, truthy, falsy]) => {
                let both = self.entry_sizes(truthy.expr).zip(self.entry_sizes(falsy.expr));
                self.set_entries(expr, both);
                sized(Range::ZERO, size(truthy).union(size(falsy)))
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let sum = size(left).add(size(right));
                let both = self.entry_sizes(left.expr).zip(self.entry_sizes(right.expr));
                self.set_entries(expr, both);
                let each = if overload == "add_list" { Range::ONE } else { sum.scale(TRAVERSAL) };
                sized(each, sum)
            }
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes"
                | "equals"
                | "not_equals",
                _,
                [left, right],
            ) => {
                let max = size(left).max.min(size(right).max);
                cost(Range { min: u64::from(max > 0), max }.scale(TRAVERSAL))
            }
            _ => None,
        }
    }

    fn set_entries(&mut self, expr: &Expr, both: Option<(Entries, Entries)>) {
        if let Some((left, right)) = both {
            self.entries.insert(expr.id, left.union(right));
        }
    }
}

fn is_textual(overload: &str) -> bool {
    overload.starts_with("list_string_") || overload.starts_with("list_bytes_")
}

fn literal_int(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        Kind::Literal(Literal::Int(number)) => Some(*number),
        _ => None,
    }
}

fn int_literal(expr: &Expr, otherwise: u64) -> u64 {
    literal_int(expr).map_or(otherwise, |number| u64::try_from(number).unwrap_or_default())
}

/// The size of text after each occurrence of a part was replaced by another.
fn replaced(text: Range, old: Range, new: Range) -> Range {
    let mut count = Range::ZERO;
    let mut kept = Range::ZERO;
    if old.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = (text.max as f64 / old.min as f64).ceil() as u64;
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = (text.min as f64 / old.max as f64).ceil() as u64;
    }
    count.multiply(new).add(kept)
}
