//! Documents as callers get them.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING};
use roost_object::Value;
use roost_store::{Expect, Operation, Options, Store, Write};

use super::*;
use crate::cluster::{Cluster, ClusterConfig};
use crate::identity::Identity;
use crate::request::{Query, RequestInfo};
use crate::resource::Resource;
use crate::stored::Stored;

fn cluster() -> Arc<Cluster> {
    let config = ClusterConfig::default();
    Cluster::new(
        "tenant",
        Store::memory(Options::default()),
        config,
        Identity::generate(Timestamp::now(), "https://example.com").unwrap(),
    )
}

async fn define(cluster: &Cluster, plural: &str, kind: &str) {
    let name = format!("{plural}.example.com");
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "uid": "1"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "description": "How large."}}},
                }}},
            }],
            "conversion": {"strategy": "None"},
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]},
    });
    let resource = Resource::built_in("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let value = Stored::encode(&definition, "v1", None).into_bytes();
    let collection = resource.collection(&cluster.tenant);
    let write = Write { collection, name: name.into(), expect: Expect::Anything, operation: Operation::Put(value) };
    cluster.store.commit(vec![write]).await.unwrap();
}

async fn get(cluster: &Arc<Cluster>, target: &str, headers: &[(HeaderName, &str)]) -> (Response<()>, Bytes) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut call = Call::internal(cluster);
    call.info = Arc::new(RequestInfo { path: path.to_owned(), ..RequestInfo::default() });
    call.query = Query::parse(Some(query));
    for (name, value) in headers {
        insert(&mut call.headers, name.clone(), value);
    }
    let rest = path.trim_end_matches('/').strip_prefix("/openapi/").unwrap();
    let (parts, body) = answer(&call, rest).into_parts();
    (Response::from_parts(parts, ()), body.collect().await.unwrap().to_bytes())
}

fn header(response: &Response<()>, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn index_of(cluster: &Arc<Cluster>) -> Value {
    let (response, body) = get(cluster, "/openapi/v3", &[]).await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, CONTENT_TYPE), "text/plain; charset=utf-8");
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn documents_are_found_by_the_address_in_the_index() {
    let cluster = cluster();
    let index = index_of(&cluster).await;
    for (name, entry) in index["paths"].as_object().unwrap() {
        let address = entry["serverRelativeURL"].as_str().unwrap();
        let (response, body) = get(&cluster, address, &[]).await;
        assert_eq!(response.status(), 200, "{name}");
        assert_eq!(header(&response, CACHE_CONTROL), "public, immutable");
        assert!(header(&response, EXPIRES).ends_with(" UTC"));
        assert_eq!(header(&response, VARY), "Accept");
        let hash = address.split_once("?hash=").unwrap().1;
        assert_eq!(header(&response, ETAG), format!("\"{hash}\""));
        assert_eq!(hash, hashes::of([&*body]), "{name}");
    }
}

#[tokio::test]
async fn callers_are_told_what_they_know_and_where_it_went() {
    let cluster = cluster();
    let target = "/openapi/v3/apis/apps/v1";
    let (response, body) = get(&cluster, target, &[]).await;
    assert_eq!((response.status().as_u16(), header(&response, CACHE_CONTROL)), (200, "no-cache, private"));
    assert_eq!(header(&response, CONTENT_LENGTH), body.len().to_string());
    let tag = header(&response, ETAG).to_owned();
    for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let (response, body) = get(&cluster, target, &[(IF_NONE_MATCH, &known)]).await;
        assert_eq!((response.status().as_u16(), body.len()), (304, 0), "{known}");
        assert_eq!(header(&response, ETAG), tag);
    }
    let (response, _) = get(&cluster, "/openapi/v3/apis/apps/v1?hash=old", &[]).await;
    assert_eq!(response.status(), 301);
    assert_eq!(header(&response, LOCATION), format!("{target}?hash={}", tag.trim_matches('"')));
}

#[tokio::test]
async fn what_is_not_there_is_not_found_as_stock_says_it() {
    let cluster = cluster();
    for (path, words) in [
        ("/openapi/v3/", ""),
        ("/openapi/v3/apis/nothing/v1", ""),
        ("/openapi/v3/apis/apps/v1/", ""),
        ("/openapi/v2/", "404 page not found\n"),
        ("/openapi/v4", "404 page not found\n"),
    ] {
        let (response, body) = get(&cluster, path, &[]).await;
        assert_eq!((response.status().as_u16(), &*body), (404, words.as_bytes()), "{path}");
    }
}

#[tokio::test]
async fn the_form_is_agreed_on() {
    let cluster = cluster();
    for (target, accept, code, media_type) in [
        ("/openapi/v3/version", "application/*", 200, "application/json"),
        ("/openapi/v3/version", "text/html, */*;q=0.8", 200, "application/json"),
        ("/openapi/v3/version", "application/yaml", 406, ""),
        (
            "/openapi/v3/version",
            "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            200,
            "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
        ),
        (
            "/openapi/v2",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            200,
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ),
        ("/openapi/v2", "text/html", 406, ""),
    ] {
        let (response, _) = get(&cluster, target, &[(ACCEPT, accept)]).await;
        assert_eq!((response.status().as_u16(), header(&response, CONTENT_TYPE)), (code, media_type), "{accept}");
    }
    let (response, body) = get(&cluster, "/openapi/v2", &[(ACCEPT_ENCODING, "gzip")]).await;
    assert_eq!(header(&response, CONTENT_ENCODING), "gzip");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*body), &mut text).unwrap();
    assert!(text.starts_with("{\"swagger\":\"2.0\""));
}

#[tokio::test]
async fn custom_kinds_have_documents_that_change_with_them() {
    let cluster = cluster();
    define(&cluster, "widgets", "Widget").await;
    let address = |index: &Value| index["paths"]["apis/example.com/v1"]["serverRelativeURL"].clone();
    let first = address(&index_of(&cluster).await);
    let (response, body) = get(&cluster, first.as_str().unwrap(), &[]).await;
    assert_eq!(response.status(), 200);
    let document: Value = serde_json::from_slice(&body).unwrap();
    let schema = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["description"], "How large.");
    assert!(schema["properties"]["metadata"]["allOf"].is_array());
    assert!(document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status"].is_object());

    let (_, before) = get(&cluster, "/openapi/v2", &[]).await;
    define(&cluster, "owls", "Owl").await;
    let second = address(&index_of(&cluster).await);
    assert_ne!(first, second);
    let (response, _) = get(&cluster, first.as_str().unwrap(), &[]).await;
    assert_eq!((response.status().as_u16(), header(&response, LOCATION)), (301, second.as_str().unwrap()));
    let (_, after) = get(&cluster, "/openapi/v2", &[]).await;
    assert!(after.len() > before.len());
    let document: Value = serde_json::from_slice(&after).unwrap();
    assert!(document["definitions"]["com.example.v1.OwlList"].is_object());
}
