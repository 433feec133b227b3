//! Odd and hostile requests, each with its exact answer.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::harness::{Echo, Reply, settings, start};

const NOT_FOUND: &str = "404 page not found\n";
const UNAUTHORIZED: &str = "Unauthorized\n";
const UNKNOWN: &str = "Token not found\n";
/// What the echo says of a request that names nothing.
const NAMELESS: &str = "plane - - peer 127.0.0.1 - []";

struct Case {
    name: String,
    request: Vec<u8>,
    answers: Vec<(u16, String)>,
}

#[derive(Default)]
struct Table {
    cases: Vec<Case>,
}

impl Table {
    /// Any bytes, any number of answers.
    fn raw(&mut self, name: &str, request: impl Into<Vec<u8>>, answers: &[(u16, &str)]) {
        self.cases.push(Case {
            name: name.to_owned(),
            request: request.into(),
            answers: answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect(),
        });
    }

    /// A request line with these header lines.
    fn ask(&mut self, name: &str, line: &str, headers: &[&str], status: u16, body: &str) {
        let mut request = format!("{line} HTTP/1.1\r\nHost: ignition\r\nConnection: close\r\n");
        for header in headers {
            let _ = write!(request, "{header}\r\n");
        }
        request.push_str("\r\n");
        self.raw(name, request, &[(status, body)]);
    }

    /// The right path with these header lines.
    fn get(&mut self, name: &str, headers: &[&str], status: u16, body: &str) {
        self.ask(name, "GET /ignition", headers, status, body);
    }

    /// A good token and another path.
    fn path(&mut self, path: &str, status: u16, body: &str) {
        self.ask(&format!("path {path}"), &format!("GET {path}"), &[&bearer("good")], status, body);
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {}", STANDARD.encode(token))
}

fn paths(table: &mut Table) {
    for path in [
        "/ignition",
        "/ignition?x=1",
        "/ignition?/x",
        "/ignitionx",
        "/ignition-config",
        "/ignition%41",
        "/ignition%0a",
        "/ignition.",
        "/ignition%00",
    ] {
        table.path(path, 200, NAMELESS);
    }
    for path in [
        "/",
        "/Ignition",
        "/IGNITION",
        "/ignitio",
        "/ignition/",
        "/ignition/x",
        "/ignition%2Fx",
        "/ignition%2f",
        "/ignition%20",
        "/ignition%20x",
        "//ignition",
        "/./ignition",
        "/x/../ignition",
        "/%2e%2e/ignition",
        "/healthz/",
        "/healthzz",
        "/Healthz",
        "/metrics",
        "/debug/pprof/",
        "/ignition/../ignition",
        "/config/worker",
        "/.well-known/x",
        "/%69gnition/",
        "*",
    ] {
        let line = if path == "*" { "OPTIONS *".to_owned() } else { format!("GET {path}") };
        table.ask(&format!("path {path}"), &line, &[&bearer("good")], 404, NOT_FOUND);
    }
    table.path("/%69gnition", 200, NAMELESS);
    table.path("https://elsewhere.example.com/ignition", 200, NAMELESS);
    table.path("http://elsewhere.example.com/x", 404, NOT_FOUND);
    for path in ["/ignition%", "/ignition%4", "/ignition%zz", "/%"] {
        table.path(path, 400, "Bad Request: malformed path\n");
    }
    table.ask("health needs no token", "GET /healthz", &[], 200, "");
    table.ask("health with a query", "GET /healthz?verbose", &[], 200, "");
    table.ask("health by another method", "POST /healthz", &["Content-Length: 0"], 200, "");
}

fn methods(table: &mut Table) {
    let good = bearer("good");
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "BREW"] {
        table.ask(
            &format!("method {method}"),
            &format!("{method} /ignition"),
            &[&good, "Content-Length: 0"],
            200,
            NAMELESS,
        );
    }
    table.ask("a body is not read", "POST /ignition", &[&good, "Content-Length: 5"], 200, NAMELESS);
    table.raw(
        "CONNECT reaches nothing",
        format!("CONNECT ignition:443 HTTP/1.1\r\nHost: x\r\n{good}\r\n\r\n"),
        &[(404, NOT_FOUND)],
    );
    table.ask("no upgrade", "GET /ignition", &[&good, "Upgrade: websocket"], 200, NAMELESS);
    table.ask(
        "no HTTP/2 by upgrade",
        "GET /ignition",
        &[&good, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"],
        200,
        NAMELESS,
    );
    table.ask("no range", "GET /ignition", &[&good, "Range: bytes=0-3"], 200, NAMELESS);
    table.ask(
        "expectations are not met with words",
        "POST /ignition",
        &[&good, "Expect: 100-continue", "Content-Length: 3"],
        200,
        NAMELESS,
    );
    table.ask("methods are case sensitive", "get /ignition", &[&good], 200, NAMELESS);
}

fn tokens(table: &mut Table) {
    table.get("no header", &[], 401, UNAUTHORIZED);
    for header in [
        "Authorization:",
        "Authorization: ",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: bearer Z29vZA==",
        "Authorization: BEARER Z29vZA==",
        "Authorization: Bearer\tZ29vZA==",
        "Authorization: Basic Z29vZA==",
        "Authorization: Z29vZA==",
        "Authorization: Token Z29vZA==",
        "Authorization: Bearer: Z29vZA==",
        "X-Authorization: Bearer Z29vZA==",
        "Proxy-Authorization: Bearer Z29vZA==",
        "Cookie: Authorization=Bearer Z29vZA==",
    ] {
        table.get(&format!("scheme {header:?}"), &[header], 401, UNAUTHORIZED);
    }
    for encoded in [
        "Z29vZA",
        "Z29vZA=",
        "Z29vZA===",
        " Z29vZA==",
        "Z29v ZA==",
        "Z29vZA==,",
        "Z29vZA== x",
        "Z29vZA__",
        "Z29v-A==",
        "good!",
        "%5a29vZA==",
        "=",
        "====",
        "Z",
        "\"Z29vZA==\"",
    ] {
        table.get(
            &format!("not base64 {encoded:?}"),
            &[&format!("Authorization: Bearer {encoded}")],
            401,
            UNAUTHORIZED,
        );
    }
    table.get("stray bits are not looked at", &["Authorization: Bearer Z29vZB=="], 200, NAMELESS);
    table.get("the name in lower case", &["authorization: Bearer Z29vZA=="], 200, NAMELESS);
    table.get("the name in upper case", &["AUTHORIZATION: Bearer Z29vZA=="], 200, NAMELESS);
    table.get("white space around the value", &["Authorization: \t Bearer Z29vZA== \t"], 200, NAMELESS);
    table.get("the first of two counts", &[&bearer("unknown"), &bearer("good")], 511, UNKNOWN);
    table.get("the first of two counts, the other way", &[&bearer("good"), &bearer("unknown")], 200, NAMELESS);
    for token in
        ["unknown", "GOOD", "good ", "good\n", "good\0", " good", "goo", "goodgood", "*", "../good", "' or 1=1 --"]
    {
        table.get(&format!("unknown token {token:?}"), &[&bearer(token)], 511, UNKNOWN);
    }
    table.get("a token that is no text", &["Authorization: Bearer //79"], 511, UNKNOWN);
    table.get("a token longer than any", &[&bearer(&"x".repeat(2000))], 511, UNKNOWN);
}

fn refusals(table: &mut Table) {
    table.get("not built yet", &[&bearer("building")], 511, UNKNOWN);
    table.get("built and broken", &[&bearer("broken")], 500, "Invalid ignition payload\n");
    table.get("a cloned host, in one line", &[&bearer("cloned")], 409, "node n1 belongs to  another host\n");
    table.get("limited by the authority", &[&bearer("busy")], 429, "Too many requests\n");
    table.get(
        "Ignition gives up on 429",
        &[&bearer("busy"), "User-Agent: Ignition/2.14.0"],
        503,
        "Too many requests\n",
    );
    table.get("the authority's reasons stay inside", &[&bearer("down")], 503, "Service unavailable\n");
}

fn identities(table: &mut Table) {
    let good = bearer("good");
    let ask = |table: &mut Table, name: &str, headers: &[&str], status: u16, body: &str| {
        let mut all = vec![good.as_str()];
        all.extend(headers);
        table.get(name, &all, status, body);
    };
    ask(
        table,
        "all that a machine can say",
        &[
            "NodePool: clusters/workers",
            "TargetConfigVersionHash: 1a2b3c4d",
            "Roost-Host-Id: 4c4c4544-0042",
            "Roost-Host-Name: n1.example.com",
            "Roost-Host-Addresses: 10.0.0.5, fd00::5,10.0.0.5",
        ],
        200,
        "plane clusters/workers 1a2b3c4d 4c4c4544-0042 n1.example.com [10.0.0.5,fd00::5]",
    );
    ask(
        table,
        "header names as Go writes them",
        &["Nodepool: clusters/workers", "Targetconfigversionhash: 1a2b3c4d"],
        200,
        "plane clusters/workers 1a2b3c4d peer 127.0.0.1 - []",
    );
    for pool in [
        "workers",
        "/workers",
        "clusters/",
        "clusters/workers/x",
        "Clusters/workers",
        "clusters/../x",
        "clusters/work ers",
        "clusters/%00",
    ] {
        ask(table, &format!("pool {pool:?} names nothing"), &[&format!("NodePool: {pool}")], 200, NAMELESS);
    }
    for hash in ["", "../..", "a b", "a/b", &"a".repeat(65)] {
        ask(
            table,
            &format!("hash {hash:?} names nothing"),
            &[&format!("TargetConfigVersionHash: {hash}")],
            200,
            NAMELESS,
        );
    }
    ask(
        table,
        "an identity with spaces",
        &["Roost-Host-Id: Chassis 7, slot 2"],
        200,
        "plane - - Chassis 7, slot 2 - []",
    );
    ask(
        table,
        "the longest identity",
        &[&format!("Roost-Host-Id: {}", "i".repeat(253))],
        200,
        &format!("plane - - {} - []", "i".repeat(253)),
    );
    let id = "Bad Request: Roost-Host-Id must be 1 to 253 printable characters\n";
    ask(table, "an identity too long", &[&format!("Roost-Host-Id: {}", "i".repeat(254))], 400, id);
    ask(table, "an empty identity", &["Roost-Host-Id: "], 400, id);
    ask(table, "an identity with a tab", &["Roost-Host-Id: a\tb"], 400, id);
    ask(
        table,
        "two identities",
        &["Roost-Host-Id: a", "Roost-Host-Id: b"],
        400,
        "Bad Request: Roost-Host-Id must be one plain text\n",
    );
    ask(
        table,
        "an identity that is no ASCII",
        &["Roost-Host-Id: caf\u{e9}"],
        400,
        "Bad Request: Roost-Host-Id must be one plain text\n",
    );
    for name in ["N1", "n_1", "-n", "n-", "n..1", "n 1", "", "n1\u{7f}", &"n".repeat(254)] {
        let body =
            if name.contains('\u{7f}') { "" } else { "Bad Request: Roost-Host-Name must be a DNS-1123 subdomain\n" };
        ask(table, &format!("node name {name:?}"), &[&format!("Roost-Host-Name: {name}")], 400, body);
    }
    ask(
        table,
        "two node names",
        &["Roost-Host-Name: a", "Roost-Host-Name: b"],
        400,
        "Bad Request: Roost-Host-Name must be one plain text\n",
    );
    for addresses in ["10.0.0", "10.0.0.5/24", "10.0.0.5 10.0.0.6", "host", "::g", "10.0.0.256"] {
        let body = "Bad Request: Roost-Host-Addresses must be addresses with commas between them\n";
        ask(table, &format!("addresses {addresses:?}"), &[&format!("Roost-Host-Addresses: {addresses}")], 400, body);
    }
    let many: Vec<String> = (0..40).map(|index| format!("10.0.0.{index}")).collect();
    ask(
        table,
        "too many addresses",
        &[&format!("Roost-Host-Addresses: {}", many.join(","))],
        400,
        "Bad Request: Roost-Host-Addresses must be no more than 32\n",
    );
    ask(table, "no address after all", &["Roost-Host-Addresses: , ,"], 200, NAMELESS);
    ask(
        table,
        "a proxy's word is no identity",
        &["X-Forwarded-For: 10.9.9.9", "Forwarded: for=10.9.9.9", "X-Real-IP: 10.9.9.9"],
        200,
        NAMELESS,
    );
}

fn malformed(table: &mut Table) {
    let good = bearer("good");
    table.raw(
        "no Host",
        format!("GET /ignition HTTP/1.1\r\nConnection: close\r\n{good}\r\n\r\n"),
        &[(400, "Bad Request: missing required Host header\n")],
    );
    table.raw(
        "two Hosts",
        format!("GET /ignition HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n{good}\r\n\r\n"),
        &[(400, "Bad Request: too many Host headers\n")],
    );
    table.raw("HTTP/1.0 needs no Host", format!("GET /ignition HTTP/1.0\r\n{good}\r\n\r\n"), &[(200, NAMELESS)]);
    let refused: &[(&str, Vec<u8>)] = &[
        ("HTTP/0.9", b"GET /ignition\r\n\r\n".to_vec()),
        ("HTTP/3", b"GET /ignition HTTP/3.0\r\nHost: x\r\n\r\n".to_vec()),
        ("no HTTP", b"\x16\x03\x01\x00\x05hello\r\n\r\n".to_vec()),
        ("a space too many", format!("GET  /ignition HTTP/1.1\r\nHost: x\r\n{good}\r\n\r\n").into_bytes()),
        ("a space in the path", format!("GET /ignition x HTTP/1.1\r\nHost: x\r\n{good}\r\n\r\n").into_bytes()),
        (
            "a space before the colon",
            format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool : a/b\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "a header without a colon",
            format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "a folded header",
            format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool: a\r\n /b\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "a zero byte in a header",
            format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool: a\0b\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "a bare carriage return in a header",
            format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool: a\rb: c\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "a control character in the path",
            format!("GET /ignition\x01 HTTP/1.1\r\nHost: x\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "two lengths",
            format!("POST /ignition HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n{good}\r\n\r\n")
                .into_bytes(),
        ),
        (
            "a length that is none",
            format!("POST /ignition HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n{good}\r\n\r\n").into_bytes(),
        ),
        (
            "an unknown encoding of the body",
            format!("POST /ignition HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n{good}\r\n\r\n").into_bytes(),
        ),
    ];
    for (name, request) in refused {
        table.raw(name, request.clone(), &[(400, "")]);
    }
    table.raw("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[]);
    table.raw(
        "a head beyond any",
        format!("GET /ignition HTTP/1.1\r\nHost: x\r\nNodePool: {}\r\n{good}\r\n\r\n", "a".repeat(40_000)),
        &[(431, "")],
    );
    table.raw(
        "a path beyond any",
        format!("GET /ignition{} HTTP/1.1\r\nHost: x\r\n{good}\r\n\r\n", "a".repeat(40_000)),
        &[(431, "")],
    );
    let many: String = (0..70).fold(String::new(), |mut text, index| {
        let _ = write!(text, "X-{index}: y\r\n");
        text
    });
    table.raw("headers beyond any", format!("GET /ignition HTTP/1.1\r\nHost: x\r\n{many}{good}\r\n\r\n"), &[(431, "")]);
    table.raw(
        "line feeds alone",
        format!("GET /ignition HTTP/1.1\nHost: x\nConnection: close\n{good}\n\n"),
        &[(200, NAMELESS)],
    );
    table.raw(
        "empty lines first",
        format!("\r\n\r\nGET /ignition HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{good}\r\n\r\n"),
        &[(200, NAMELESS)],
    );
    table.raw("a smuggled request is the body", format!("POST /ignition HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n{good}\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"), &[(200, NAMELESS)]);
}

fn pipelines(table: &mut Table) {
    let one = |path: &str, token: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", bearer(token));
    let last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    table.raw(
        "one after another",
        format!("{}{}{last}", one("/ignition", "good"), one("/x", "good")),
        &[(200, NAMELESS), (404, NOT_FOUND), (200, "")],
    );
    table.raw(
        "a refusal does not end the connection",
        format!("{}{}{last}", one("/ignition", "unknown"), one("/ignition", "good")),
        &[(511, UNKNOWN), (200, NAMELESS), (200, "")],
    );
    table.raw(
        "tokens do not carry over",
        format!("{}GET /ignition HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", one("/ignition", "good")),
        &[(200, NAMELESS), (401, UNAUTHORIZED)],
    );
    table.raw("nothing after close", format!("{last}{}", one("/ignition", "good")), &[(200, "")]);
    table.raw(
        "garbage after a request",
        format!("{}\x01\x02\x03\r\n\r\n", one("/ignition", "good")),
        &[(200, NAMELESS), (400, "")],
    );
    let body =
        format!("POST /ignition HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n{}\r\n\r\nhello{last}", bearer("good"));
    table.raw("a body stands between requests", body, &[(200, NAMELESS), (200, "")]);
}

fn table() -> Table {
    let mut table = Table::default();
    paths(&mut table);
    methods(&mut table);
    tokens(&mut table);
    refusals(&mut table);
    identities(&mut table);
    malformed(&mut table);
    pipelines(&mut table);
    table
}

#[tokio::test]
async fn every_request_has_its_answer() {
    let server = start(settings(), Echo::default()).await;
    let table = table();
    assert!(table.cases.len() >= 100, "{} cases", table.cases.len());
    let mut wrong = Vec::new();
    for case in &table.cases {
        let replies = server.exchange(&case.request, case.answers.len() + 1, false).await;
        let got: Vec<(u16, String)> = replies.iter().map(|reply| (reply.status, reply.body.clone())).collect();
        if got != case.answers {
            wrong.push(format!("{}: {got:?} instead of {:?}", case.name, case.answers));
        }
        for reply in &replies {
            assert!(well_formed(reply), "{}: {reply:?}", case.name);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.cases.len(), wrong.join("\n"));
}

/// What holds for every answer with a body.
fn well_formed(reply: &Reply) -> bool {
    match reply.status {
        200 if reply.body.is_empty() => true,
        200 => {
            reply.header("content-type") == Some("application/json; charset=utf-8")
                && reply.header("cache-control") == Some("no-store")
                && reply.header("etag").is_some()
        }
        _ if reply.body.is_empty() => true,
        _ => {
            reply.header("content-type") == Some("text/plain; charset=utf-8")
                && reply.header("x-content-type-options") == Some("nosniff")
        }
    }
}

#[tokio::test]
async fn strangers_reach_nobody() {
    let server = start(settings(), Echo::default()).await;
    for headers in ["", "Authorization: bearer Z29vZA==\r\n", "Authorization: Bearer !\r\n"] {
        assert_eq!(server.get(headers).await.status, 401);
    }
    assert_eq!(server.authority.fetches.load(Ordering::SeqCst), 0, "the authority is asked with a token only");
    assert_eq!(server.authority.rejections.load(Ordering::SeqCst), 3);
    assert_eq!(server.metrics.answers(http::StatusCode::UNAUTHORIZED), 3);
}

#[tokio::test]
async fn head_says_what_get_would() {
    let server = start(settings(), Echo::default()).await;
    let token = bearer("config");
    let head = format!("HEAD /ignition HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{token}\r\n\r\n");
    let head = server.exchange(head.as_bytes(), 1, true).await.pop().unwrap();
    let get = server.get(&format!("{token}\r\n")).await;
    assert_eq!((head.status, get.status), (200, 200));
    assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()));
    assert_eq!(head.header("etag"), get.header("etag"));
    assert_eq!(server.metrics.render("demo").matches("ign_server_get_request{").count(), 0);
}

#[tokio::test]
async fn what_a_machine_has_is_not_sent_again() {
    let server = start(settings(), Echo::default()).await;
    let token = bearer("config");
    let first = server.get(&format!("{token}\r\n")).await;
    let tag = first.header("etag").unwrap().to_owned();
    for (condition, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"x\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
        (tag.trim_matches('"').to_owned(), 200),
        (String::new(), 200),
    ] {
        let reply = server.get(&format!("{token}\r\nIf-None-Match: {condition}\r\n")).await;
        assert_eq!((reply.status, reply.body.is_empty()), (status, status == 304), "{condition}");
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
    }
    let other = server.get(&format!("{}\r\nIf-None-Match: {tag}\r\n", bearer("unknown"))).await;
    assert_eq!(other.status, 511, "a tag is no token");
}

#[tokio::test]
async fn machines_get_a_version_that_they_read() {
    let server = start(settings(), Echo::default()).await;
    let media = "application/vnd.coreos.ignition+json";
    for (token, accept, answer) in [
        ("config", String::new(), Ok("3.2.0")),
        ("config", format!("{media};version=3.3.0, */*;q=0.1"), Ok("3.2.0")),
        ("config", format!("{media};version=3.5.0, */*;q=0.1"), Ok("3.2.0")),
        ("config", format!("{media};version=3.2.0"), Ok("3.2.0")),
        ("config", format!("{media};version=3.1.0, */*;q=0.1"), Ok("3.1.0")),
        ("config", format!("{media};version=3.0.0"), Ok("3.0.0")),
        ("config", format!("{media};version=2.3.0"), Ok("3.2.0")),
        ("config", "nonsense;;;=".to_owned(), Ok("3.2.0")),
        ("headers", format!("{media};version=3.1.0"), Ok("3.1.0")),
        ("headers", format!("{media};version=3.0.0"), Err((500, "Invalid ignition payload\n"))),
    ] {
        let reply = server.get(&format!("{}\r\nAccept: {accept}\r\n", bearer(token))).await;
        match answer {
            Ok(version) => {
                assert_eq!(reply.status, 200, "{accept}");
                assert!(reply.body.contains(&format!("\"version\":\"{version}\"")), "{accept}: {}", reply.body);
            }
            Err(expected) => assert_eq!((reply.status, reply.body.as_str()), expected, "{accept}"),
        }
    }
}

#[tokio::test]
async fn counters_name_pools_that_were_proven() {
    let server = start(settings(), Echo::default()).await;
    server.get(&format!("{}\r\nNodePool: clusters/claimed\r\n", bearer("good"))).await;
    server.get(&format!("{}\r\n", bearer("unknown"))).await;
    let text = server.metrics.render("de\"mo");
    assert!(text.contains("ign_server_get_request{cluster=\"de\\\"mo\",nodePool=\"clusters/workers\"} 1\n"), "{text}");
    assert!(text.contains("roost_ignition_answers_total{cluster=\"de\\\"mo\",code=\"511\"} 1\n"), "{text}");
    assert!(!text.contains("claimed"), "{text}");
}
