//! The costs of calls.

use super::range::Range;
use super::route::Route;
use super::{Coster, Entries, Operand};
use crate::cel::ast::Expr;

pub(super) const TRAVERSAL: f64 = 0.1;
pub(super) const REGEX: f64 = 0.25;

/// The cost of a call without its operands, and the size of its result if it is known.
pub(super) struct Estimate {
    cost: Range,
    size: Option<Range>,
}

pub(super) fn cost(cost: Range) -> Estimate {
    Estimate { cost, size: None }
}

pub(super) fn sized(cost: Range, size: Range) -> Estimate {
    Estimate { cost, size: Some(size) }
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
                let route = self.route(container).extended(part);
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
        if route.names().first().is_some_and(|name| matches!(name.as_ref(), "@result" | "__result__")) {
            route = Route::default();
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

    pub(super) fn known(&self, operand: &Operand<'_, 's>) -> Range {
        operand.size.or_else(|| self.estimator.size(&operand.route)).unwrap_or(Range::UNKNOWN)
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
        Some(match (overload, target, args) {
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
            _ => return None,
        })
    }

    fn set_entries(&mut self, expr: &Expr, both: Option<(Entries, Entries)>) {
        if let Some((left, right)) = both {
            self.entries.insert(expr.id, left.union(right));
        }
    }
}
