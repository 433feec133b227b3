//! `TokenReview`: whom a token speaks for.

use roost_object::Status;
use roost_pki::Secret;
use serde_json::{Map, Value, json};

use crate::token::{Authenticated, Error};
use crate::user::User;

/// A question about a token.
#[derive(Clone, Debug)]
pub struct TokenReview {
    /// The token.
    pub token: Secret<String>,
    /// The audiences of which at least one must be the token's; the API server's own when the question names none.
    pub audiences: Vec<String>,
}

impl TokenReview {
    /// What is shown as a bearer token: stock puts the token into a header and takes from it what ends at a space. None where
    /// nothing is left, which says that nobody in particular asks.
    pub fn shown(&self) -> Option<&str> {
        let token = self.token.expose().trim_end_matches(char::is_whitespace);
        token.split(' ').next().filter(|shown| !shown.is_empty())
    }

    /// Whom the server takes the caller for who shows no token.
    pub fn nobody(&self) -> Authenticated {
        Authenticated { user: User::anonymous(), audiences: self.audiences.clone(), secret: None }
    }

    /// Reads a review.
    pub fn new(object: &Value, own_audiences: &[String]) -> Result<Self, Status> {
        let spec = &object["spec"];
        let token = spec["token"].as_str().unwrap_or_default();
        if token.is_empty() {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        let asked = spec["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut audiences: Vec<String> = asked.map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences = own_audiences.to_vec();
        }
        Ok(Self { token: Secret::new(token.to_owned()), audiences })
    }
}

/// The review's `status`. No error and nobody found means that no authenticator knew the token.
pub fn token_review_answer(outcome: Result<Option<&Authenticated>, &Error>) -> Value {
    let mut status = Map::new();
    match outcome {
        Ok(Some(found)) => {
            status.insert("authenticated".into(), json!(true));
            status.insert("user".into(), found.user.clone().authenticated().to_object());
            if !found.audiences.is_empty() {
                status.insert("audiences".into(), json!(found.audiences));
            }
        }
        Ok(None) => {
            status.insert("user".into(), json!({}));
            status.insert("error".into(), json!("invalid bearer token"));
        }
        Err(error) => {
            status.insert("user".into(), json!({}));
            status.insert("error".into(), json!(format!("[invalid bearer token, {error}]")));
        }
    }
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_shape_of_stock() {
        let own = ["api".to_owned()];
        let refused = TokenReview::new(&json!({"spec": {}}), &own).unwrap_err();
        assert_eq!(refused.message, "token is required for TokenReview in authentication");
        let review = TokenReview::new(&json!({"spec": {"token": "t"}}), &own).unwrap();
        assert_eq!(review.audiences, own);
        let shown = |token: &str| {
            TokenReview::new(&json!({"spec": {"token": token}}), &own).unwrap().shown().map(str::to_owned)
        };
        assert_eq!((shown("a b"), shown(" a"), shown(" ")), (Some("a".to_owned()), None, None));
        assert!(!format!("{review:?}").contains("\"t\""));
        let found = Authenticated { user: User::new("bot", ["g"]), audiences: vec!["api".into()], secret: None };
        assert_eq!(
            token_review_answer(Ok(Some(&found))),
            json!({"authenticated": true, "audiences": ["api"],
                "user": {"username": "bot", "groups": ["g", "system:authenticated"]}})
        );
        assert_eq!(token_review_answer(Ok(None)), json!({"user": {}, "error": "invalid bearer token"}));
        assert_eq!(
            token_review_answer(Err(&Error::new("service account token has expired"))),
            json!({"user": {}, "error": "[invalid bearer token, service account token has expired]"})
        );
    }
}
