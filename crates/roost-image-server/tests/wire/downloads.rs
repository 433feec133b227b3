//! Downloads that are cut and resumed, many at once, with TLS and without.

use std::net::SocketAddr;
use std::sync::Arc;

use roost_image_server::{Exposure, Limits};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::client::{Stream, exchange, head};
use crate::harness::{ISO, noise, start, start_with};

/// Reads a few bytes of what was asked for and goes away in the middle.
async fn cut(stream: &mut dyn Stream, from: usize, count: usize) -> Vec<u8> {
    let request = format!("GET {ISO} HTTP/1.1\r\nRange: bytes={from}-\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(head(stream).await.starts_with("HTTP/1.1 206"));
    let mut part = vec![0; count];
    stream.read_exact(&mut part).await.unwrap();
    part
}

async fn resumed(address: SocketAddr, length: usize, seed: u64) -> Vec<u8> {
    let mut all = Vec::new();
    let mut cuts = noise(1000, seed).into_iter();
    while all.len() < length {
        let step = (usize::from(cuts.next().unwrap()) << 12) + usize::from(cuts.next().unwrap()) + 1;
        let mut stream = TcpStream::connect(address).await.unwrap();
        all.extend(cut(&mut stream, all.len(), step.min(length - all.len())).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_at_once_are_cut_and_resumed_to_the_byte() {
    let server = start().await;
    let expected = Arc::new(server.expected());
    let mut running = tokio::task::JoinSet::new();
    for seed in 0..50 {
        let (address, expected) = (server.address, Arc::clone(&expected));
        running.spawn(async move { resumed(address, expected.len(), seed).await == *expected });
    }
    let mut right = 0;
    while let Some(same) = running.join_next().await {
        assert!(same.unwrap());
        right += 1;
    }
    assert_eq!(right, 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_tls_it_is_the_same() {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = CertificateDer::from(issued.cert.der().to_vec());
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let server = start_with(Limits::default(), Exposure::Everything, Some(Arc::new(config))).await;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(client));
    let connect = async || {
        let stream = TcpStream::connect(server.address).await.unwrap();
        connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    };
    let expected = server.expected();
    let heard = exchange(&mut connect().await, &format!("GET {ISO} HTTP/1.1\r\n\r\n")).await;
    assert!(heard.status == 200 && heard.body == expected);
    let mut all = Vec::new();
    while all.len() < expected.len() {
        let count = 700_001.min(expected.len() - all.len());
        all.extend(cut(&mut connect().await, all.len(), count).await);
    }
    assert!(all == expected);
}
