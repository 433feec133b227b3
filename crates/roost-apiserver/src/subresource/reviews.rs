//! Reviews: questions about access that are answered and not stored.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use jiff::Timestamp;
use roost_access::review::{AccessReview, ReviewKind, TokenReview, rules_review, self_review, token_review_answer};
use roost_object::{Status, Value};
use serde_json::json;

use super::decode_as;
use crate::admission::{self, Action};
use crate::call::Call;
use crate::negotiate::{self, BUILT_IN};
use crate::options::{WriteKind, WriteOptions};
use crate::resource::Resource;
use crate::respond::Body;
use crate::tokens;
use crate::write::{Target, match_namespace, track};

/// Answers a review.
pub(super) async fn create(call: &Call, resource: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let cluster = &call.cluster;
    let format = negotiate::negotiate_without_table(&call.headers, &call.query)?;
    let options = WriteOptions::parse(&call.query, WriteKind::Create)?;
    let mut body = decode_as(call, bytes, &resource.api_version, &resource.kind, &options)?;
    let target = Target { call, resource, namespace: &call.info.namespace, name: "", subresource: "" };
    match_namespace(&target, &mut body)?;
    track(&target, None, &mut body, &call.manager_or_agent(&options.field_manager));
    let action = Action { operation: "CREATE", kind: [&resource.group, &resource.version, &resource.kind] };
    admission::admit(target, &action, &mut body, options.dry_run).await?;
    let mut answer = body.clone();
    match resource.kind.as_str() {
        "TokenReview" => {
            let review = TokenReview::new(&body, &tokens::own_audiences(cluster))?;
            let found = match review.shown() {
                Some(token) => tokens::authenticate(cluster, token, &review.audiences),
                None => Ok(Some(review.nobody())),
            };
            if let Ok(Some(found)) = &found
                && let Some((namespace, name)) = &found.secret
                && let Some(warning) = crate::inside::note_token_use(cluster, namespace, name).await
            {
                call.warnings.add(warning);
            }
            // What the caller says of the status stays where nobody is found to say otherwise.
            let mut status = token_review_answer(found.as_ref().map(Option::as_ref));
            let is_found = status["authenticated"] == true;
            for (name, value) in body["status"].as_object().into_iter().flatten() {
                let stays = match name.as_str() {
                    "authenticated" => false,
                    "error" => status.get("error").is_none(),
                    _ => !is_found,
                };
                if stays {
                    status[name] = value.clone();
                }
            }
            answer["status"] = status;
        }
        "SelfSubjectReview" => answer = self_review(&call.user, &resource.api_version, Timestamp::now()),
        "SelfSubjectRulesReview" => {
            let status = cluster.authorizer.with(cluster, |index, _| rules_review(index, &call.user, &body))?;
            answer = json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, "spec": {}, "status": status});
        }
        kind => {
            let kind = match kind {
                "SelfSubjectAccessReview" => ReviewKind::SelfSubject,
                "LocalSubjectAccessReview" => ReviewKind::LocalSubject,
                _ => ReviewKind::Subject,
            };
            let review = AccessReview::new(kind, &body, &call.user, &call.info.namespace)?;
            let decision = cluster.authorizer.decide(cluster, &review.attributes());
            answer["status"] = review.status(&decision);
        }
    }
    crate::read::present(call, resource, &format, 201, answer)
}

/// The health of the parts, as an old API reports it.
pub(super) fn component_statuses(call: &Call) -> Result<Response<Body>, Status> {
    let format = negotiate::negotiate(&call.headers, &call.query, BUILT_IN)?;
    let part = |name: &str| json!({"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name}, "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]});
    let names = ["controller-manager", "etcd-0", "scheduler"];
    let resource = call.cluster.resource("", "v1", "componentstatuses").ok_or_else(Status::unknown_path)?;
    if call.info.name.is_empty() {
        let items: Vec<Value> = names.iter().map(|name| part(name)).collect();
        return crate::read::present_list(call, &resource, &format, &crate::read::ListMeta::default(), items);
    }
    if names.contains(&&*call.info.name) {
        return crate::read::present(call, &resource, &format, 200, part(&call.info.name));
    }
    Err(Status::not_found(&roost_object::GroupResource::new("", "componentstatus"), &call.info.name))
}
