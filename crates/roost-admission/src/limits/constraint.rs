//! The single comparisons of a limit, in stock's words.

use roost_object::Quantity;

use crate::amounts::Amounts;

/// Above this, thousandths no longer fit 64 bits and whole units are compared.
const MAX_WHOLE_IN_THOUSANDTHS: i64 = i64::MAX / 1000;

/// Amounts at a precision at which all of them can be compared.
fn comparable<const N: usize>(quantities: [&Quantity; N]) -> [i64; N] {
    let whole = quantities.map(Quantity::value);
    if whole.iter().all(|value| *value <= MAX_WHOLE_IN_THOUSANDTHS) {
        quantities.map(Quantity::milli_value)
    } else {
        whole
    }
}

fn amount<'a>(amounts: &'a Amounts, name: &str) -> &'a Quantity {
    amounts.get(name).unwrap_or(&Quantity::ZERO)
}

pub(super) fn minimum(
    subject: &str,
    name: &str,
    enforced: &Quantity,
    requests: &Amounts,
    limits: &Amounts,
) -> Option<String> {
    let (request, limit) = (amount(requests, name), amount(limits, name));
    let [asked, most, least] = comparable([request, limit, enforced]);
    if !requests.contains_key(name) {
        return Some(format!("minimum {name} usage per {subject} is {enforced}.  No request is specified"));
    }
    if asked < least {
        return Some(format!("minimum {name} usage per {subject} is {enforced}, but request is {request}"));
    }
    if limits.contains_key(name) && most < least {
        return Some(format!("minimum {name} usage per {subject} is {enforced}, but limit is {limit}"));
    }
    None
}

pub(super) fn maximum_request(subject: &str, name: &str, enforced: &Quantity, requests: &Amounts) -> Option<String> {
    let request = amount(requests, name);
    let [asked, most] = comparable([request, enforced]);
    if !requests.contains_key(name) {
        return Some(format!("maximum {name} usage per {subject} is {enforced}.  No request is specified"));
    }
    if asked > most {
        return Some(format!("maximum {name} usage per {subject} is {enforced}, but request is {request}"));
    }
    None
}

pub(super) fn maximum(
    subject: &str,
    name: &str,
    enforced: &Quantity,
    requests: &Amounts,
    limits: &Amounts,
) -> Option<String> {
    let (request, limit) = (amount(requests, name), amount(limits, name));
    let [asked, limited, most] = comparable([request, limit, enforced]);
    if !limits.contains_key(name) {
        return Some(format!("maximum {name} usage per {subject} is {enforced}.  No limit is specified"));
    }
    if limited > most {
        return Some(format!("maximum {name} usage per {subject} is {enforced}, but limit is {limit}"));
    }
    if requests.contains_key(name) && asked > most {
        return Some(format!("maximum {name} usage per {subject} is {enforced}, but request is {request}"));
    }
    None
}

pub(super) fn limit_to_request_ratio(
    subject: &str,
    name: &str,
    enforced: &Quantity,
    requests: &Amounts,
    limits: &Amounts,
) -> Option<String> {
    let [asked, limited, _] = comparable([amount(requests, name), amount(limits, name), enforced]);
    if asked == 0 {
        return Some(format!(
            "{name} max limit to request ratio per {subject} is {enforced}, but no request is specified or request is 0"
        ));
    }
    if limited == 0 {
        return Some(format!(
            "{name} max limit to request ratio per {subject} is {enforced}, but no limit is specified or limit is 0"
        ));
    }
    let ratio = limited as f64 / asked as f64;
    let exceeded = if enforced.value() <= MAX_WHOLE_IN_THOUSANDTHS {
        ratio * 1000.0 > enforced.milli_value() as f64
    } else {
        ratio > enforced.value() as f64
    };
    exceeded.then(|| {
        format!("{name} max limit to request ratio per {subject} is {enforced}, but provided ratio is {ratio:.6}")
    })
}
