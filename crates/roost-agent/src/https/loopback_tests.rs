//! The client against a real TLS server on loopback: whom it trusts, and whom not.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Address, HttpsError, Pin, Request, Trust, send};

/// A server with a certificate for 127.0.0.1, its authority sent along.
struct Server {
    address: Address,
    authority: CertificateDer<'static>,
    leaf: CertificateDer<'static>,
}

fn serve() -> Server {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let authority = issuer.der().clone();
    let chain = vec![leaf.der().clone(), authority.clone()];
    let configuration = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let configuration = Arc::new(configuration);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&configuration)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            // A client that trusts nobody goes away in the middle.
            if stream.read(&mut [0; 4096]).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    Server {
        address: Address::parse(&format!("https://127.0.0.1:{port}/")).unwrap(),
        authority,
        leaf: chain[0].clone(),
    }
}

fn ask(server: &Server, trust: &Trust) -> Result<Vec<u8>, HttpsError> {
    let request = Request { method: "GET", address: &server.address, headers: &[], body: b"", largest: 10 };
    send(&request, trust, None).map(|answer| answer.body)
}

#[test]
fn the_authority_the_pinned_key_and_the_pinned_authority_are_trusted() {
    let server = serve();
    for trust in [
        Trust::Authorities(vec![server.authority.clone()]),
        Trust::Pinned(Pin::of(&server.leaf).unwrap()),
        Trust::Pinned(Pin::of(&server.authority).unwrap()),
    ] {
        assert_eq!(ask(&server, &trust).unwrap(), b"ok", "{trust:?}");
    }
}

#[test]
fn others_are_not_trusted() {
    let (server, other) = (serve(), serve());
    for trust in [
        Trust::Authorities(vec![other.authority.clone()]),
        Trust::Pinned(Pin::of(&other.leaf).unwrap()),
        Trust::Pinned(Pin::of(&other.authority).unwrap()),
    ] {
        assert!(matches!(ask(&server, &trust), Err(HttpsError::Tls { .. })), "{trust:?}");
    }
}
