//! The costs of calls of libraries beyond the standard one.

use super::calls::{Estimate, REGEX, TRAVERSAL, cost, sized};
use super::range::Range;
use super::{Coster, Operand};
use crate::cel::ast::{Expr, Kind, Literal};
use crate::cel::constant::is_constant;
use crate::cel::types::Type;

/// The longest pattern that named formats stand for.
const FORMAT_REGEX_SIZE: f64 = 128.0;

impl<'s> Coster<'_, 's> {
    /// cel-go's list and set extensions.
    pub(super) fn extension(
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
        Some(match (overload, target, args) {
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
            ("list_reverse" | "list_flatten", Some(target), []) => allocating(1.0, self.known(target)),
            ("list_flatten_int", Some(target), [depth]) => {
                allocating(int_literal(depth.expr, u64::MAX) as f64, self.known(target))
            }
            ("list_distinct", Some(target), []) => squared(target, false),
            (_, Some(target), []) if overload.ends_with("_sort") => squared(target, is_textual(overload)),
            (_, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => squared(keys, is_textual(overload)),
            _ => return None,
        })
    }

    /// The libraries of Kubernetes.
    pub(super) fn library(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Operand<'_, 's>>,
        args: &[Operand<'_, 's>],
    ) -> Option<Estimate> {
        let first = args.first().map(|arg| self.known(arg));
        let receiver = target.map(|target| self.known(target));
        Some(match function {
            "check" => cost(Range::fixed(350_000)),
            function if is_constant(function) => cost(Range::ONE),
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
                        _ => return None,
                    },
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// The type and size of a list's elements; none for what is not a list.
    fn element(&self, list: &Operand<'_, 's>) -> Option<(Type<'s>, Range)> {
        let kind = match &list.kind {
            Type::List(element) | Type::Optional(element) => element.as_ref().clone(),
            Type::Map(key, _) => key.as_ref().clone(),
            _ => return None,
        };
        let route = if list.route.is_empty() { list.route.clone() } else { list.route.apart().extended("@items") };
        Some((kind, self.estimator.size(&route).unwrap_or(Range::UNKNOWN)))
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
