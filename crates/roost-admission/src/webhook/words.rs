//! What a caller hears of webhooks, in stock's words.

use roost_object::Status;
use roost_object::field::quote;

/// The refusal of a webhook.
pub fn denied(webhook: &str, status: Option<Status>) -> Status {
    let mut status = status.unwrap_or_else(|| Status::failure(0, "", ""));
    status.code = status.code.max(400);
    status.status = if matches!(status.status.as_str(), "" | "Success") { "Failure".into() } else { status.status };
    let by = format!("admission webhook {} denied the request", quote(webhook));
    status.message = if !status.message.is_empty() {
        format!("{by}: {}", status.message)
    } else if !status.reason.is_empty() {
        format!("{by}: {}", status.reason)
    } else {
        format!("{by} without explanation")
    };
    status
}

/// A request that cannot be asked about because it is only tried.
pub fn dry_run_unsupported(webhook: &str) -> Status {
    Status::bad_request(format!("admission webhook {} does not support dry run", quote(webhook)))
}

/// A webhook that could not be asked.
pub fn failed(webhook: &str, why: &str) -> Status {
    Status::internal(format!("failed calling webhook {}: {why}", quote(webhook)))
}

/// What an HTTP answer that is not a success means to a client of Kubernetes.
pub fn response_words(code: u16, body: &str) -> String {
    match code {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 if body.is_empty() || body == "unknown" => {
            "the server was unable to respond with a content type that the client supports".into()
        }
        403 | 406 | 415 => body.into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .into()
        }
        500.. => format!("an error on the server ({}) has prevented the request from succeeding", quote(body)),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_keep_what_they_say() {
        let status = |message: &str, reason: &str, code: u16| Some(Status::failure(code, reason, message));
        let cases = [
            (None, 400, "admission webhook \"w\" denied the request without explanation"),
            (status("no", "", 0), 400, "admission webhook \"w\" denied the request: no"),
            (status("no", "", 200), 400, "admission webhook \"w\" denied the request: no"),
            (status("", "Because", 403), 403, "admission webhook \"w\" denied the request: Because"),
        ];
        for (given, code, message) in cases {
            let status = denied("w", given);
            assert_eq!((status.code, status.message.as_str(), status.status.as_str()), (code, message, "Failure"));
        }
    }
}
