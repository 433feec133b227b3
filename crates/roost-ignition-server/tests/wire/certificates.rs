//! Certificates that change while machines are connected, and listeners that come and go.

use std::net::SocketAddr;
use std::sync::Arc;

use roost_ignition_server::{Limits, Listen, PlaneId, ServeError, Servers};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::harness::{Echo, Identity, Reader, Reply, Running, connector, connector_as, settings, start};

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

async fn connects(address: SocketAddr, identity: &Identity) -> bool {
    let Ok(stream) = TcpStream::connect(address).await else { return false };
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    connector(&identity.certificate, &[]).connect(name, stream).await.is_ok()
}

#[tokio::test]
async fn a_new_certificate_drops_no_connection() {
    let server = start(settings(), Echo::default()).await;
    let mut old = server.connect().await;
    old.write_all(HEALTH).await.unwrap();
    let mut reader = Reader::default();
    assert_eq!(reader.reply(&mut old, false).await.unwrap().status, 200);
    let second = Identity::new("second");
    server.certificate.replace(&second.certificate, &second.key).unwrap();
    assert!(connects(server.address, &second).await);
    assert!(!connects(server.address, &server.identity).await);
    old.write_all(HEALTH).await.unwrap();
    assert_eq!(reader.reply(&mut old, false).await.unwrap().status, 200, "the old connection goes on");
    assert!(server.certificate.replace("nonsense", &second.key).is_err());
    assert!(server.certificate.replace(&second.certificate, &server.identity.key).is_err(), "another's key");
    assert!(connects(server.address, &second).await, "what cannot be shown changes nothing");
}

fn listen(identity: &Identity, address: &str) -> Listen {
    Listen { address: address.parse().unwrap(), certificate: identity.certificate.clone(), key: identity.key.clone() }
}

#[tokio::test]
async fn listeners_come_and_go() {
    let servers = Servers::new(Arc::new(Echo::default()), Limits::default(), Arc::default());
    let (one, two) = (PlaneId::new("one"), PlaneId::new("two"));
    let (first, second) = (Identity::new("first"), Identity::new("second"));
    let at_one = servers.ensure(&one, listen(&first, "127.0.0.1:0")).await.unwrap();
    let at_two = servers.ensure(&two, listen(&second, "127.0.0.1:0")).await.unwrap();
    assert!(connects(at_one, &first).await && connects(at_two, &second).await);
    assert!(!connects(at_one, &second).await, "each shows its own");
    assert_eq!(servers.ensure(&one, listen(&first, "127.0.0.1:0")).await.unwrap(), at_one, "nothing happens");
    assert_eq!(servers.ensure(&one, listen(&second, "127.0.0.1:0")).await.unwrap(), at_one, "another certificate");
    assert!(connects(at_one, &second).await);
    let taken = servers.ensure(&one, listen(&second, &at_two.to_string())).await;
    assert!(matches!(taken, Err(ServeError::Listen { .. })));
    assert!(connects(at_one, &second).await, "what could not be moved stays");
    let moved = servers.ensure(&one, listen(&second, "127.0.0.2:0")).await.unwrap();
    assert!(connects(moved, &second).await);
    let mut broken = listen(&second, "127.0.0.3:0");
    broken.certificate.clear();
    assert!(matches!(servers.ensure(&one, broken).await, Err(ServeError::Certificate(_))));
    assert!(connects(moved, &second).await);
    assert_eq!(servers.planes().len(), 2);
    assert!(servers.remove(&one) && !servers.remove(&one));
    for _ in 0..500 {
        if TcpStream::connect(moved).await.is_err() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(TcpStream::connect(moved).await.is_err());
    assert!(connects(at_two, &second).await);
}

/// Asks with a certificate of one's own.
async fn ask(server: &Running, own: &Identity, headers: &str) -> Reply {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    let connector = connector_as(&server.identity.certificate, &[], Some(own));
    let mut stream = connector.connect(name, stream).await.unwrap();
    let request = format!("GET /ignition HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    Reader::default().reply(&mut stream, false).await.unwrap()
}

#[tokio::test]
async fn a_machine_that_has_joined_shows_its_certificate_instead_of_a_token() {
    let server = start(settings(), Echo::default()).await;
    let (known, stranger) = (Identity::new("known"), Identity::new("stranger"));
    let good = ask(&server, &known, "TargetConfigVersionHash: abc\r\n").await;
    assert_eq!((good.status, good.body.as_str()), (200, "for known abc"));
    let refused = ask(&server, &stranger, "").await;
    assert_eq!((refused.status, refused.body.as_str()), (403, "stranger is nobody\n"));
    assert_eq!(ask(&server, &known, "TargetConfigVersionHash: other\r\n").await.status, 409);
    let with_token = ask(&server, &known, "Authorization: Bearer Z29vZA==\r\n").await;
    assert!(with_token.status == 200 && with_token.body.starts_with("plane "), "a token is looked at first");
    assert_eq!(ask(&server, &known, "Authorization: Basic x\r\n").await.status, 401, "and a bad one is a bad one");
    assert_eq!(server.get("").await.status, 401, "without both there is nothing");
}
