//! Base images that are fetched: whole and right, or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roost_image_server::{Catalog, DownloadSettings, ImageError, Images, Origin, Progress};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::harness::{ENVIRONMENT, ISO, Running, os_image, spec, start};

fn digest_of(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// One server's image is the next one's base.
fn address(server: &Running) -> String {
    format!("http://{}{ISO}", server.address)
}

async fn until(catalog: &Catalog, wanted: impl Fn(&Progress) -> bool) -> Progress {
    let begin = Instant::now();
    loop {
        let progress = catalog.progress().remove(0).1;
        if wanted(&progress) {
            return progress;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "last seen: {progress:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn catalog(server: &Running) -> Catalog {
    Catalog::new(server.directory.path().join("kept"), DownloadSettings::default())
}

fn kept(server: &Running) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(server.directory.path().join("kept")) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_image_is_fetched_once_and_kept() {
    let server = start().await;
    let expected = server.expected();
    let origin = Origin::Url(format!("{}#sha256={}", address(&server), digest_of(&expected)));
    let first = catalog(&server);
    first.ensure(vec![os_image(origin.clone())]);
    until(&first, |progress| *progress == Progress::Ready).await;
    assert_eq!(kept(&server), ["live-418.94.2026-x86_64.iso", "live-418.94.2026-x86_64.sha256"]);
    let path = server.directory.path().join("kept/live-418.94.2026-x86_64.iso");
    assert!(std::fs::read(&path).unwrap() == expected);

    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    let again = catalog(&server);
    again.ensure(vec![os_image(origin)]);
    until(&again, |progress| *progress == Progress::Ready).await;
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before, "it was fetched again");
}

#[tokio::test]
async fn another_digest_is_not_accepted() {
    let server = start().await;
    let catalog = catalog(&server);
    catalog.ensure(vec![os_image(Origin::Url(format!("{}#sha256={}", address(&server), "0".repeat(64))))]);
    let Progress::Failed(words) = until(&catalog, |progress| matches!(progress, Progress::Failed(_))).await else {
        unreachable!()
    };
    assert!(words.contains(&digest_of(&server.expected())), "{words}");
    assert_eq!(kept(&server), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_no_live_image_is_not_kept() {
    let server = start().await;
    let catalog = catalog(&server);
    let kernel = format!("http://{}/boot-artifacts/kernel?version=4.18", server.address);
    catalog.ensure(vec![os_image(Origin::Url(kernel))]);
    let Progress::Failed(words) = until(&catalog, |progress| matches!(progress, Progress::Failed(_))).await else {
        unreachable!()
    };
    assert!(words.ends_with("is not a live image: this is no ISO 9660 image"), "{words}");
    assert_eq!(kept(&server), Vec::<String>::new());
}

#[tokio::test]
async fn an_environment_waits_for_its_image() {
    let server = start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = Origin::Url(format!("http://{}/slow.iso", listener.local_addr().unwrap()));
    let catalog = Arc::new(catalog(&server));
    catalog.ensure(vec![os_image(origin)]);
    let images = Images::new(Arc::clone(&catalog));
    let refused = images.ensure(ENVIRONMENT, spec());
    assert!(matches!(refused, Err(ImageError::NotReady(_))), "{refused:?}");

    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0; 1024];
    let _ = stream.read(&mut request).await.unwrap();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", server.base.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&server.base[..1000]).await.unwrap();
    let total = Some(server.base.len() as u64);
    until(&catalog, |progress| *progress == Progress::Downloading { received: 1000, total }).await;
    let words = images.ensure(ENVIRONMENT, spec()).unwrap_err().to_string();
    assert_eq!(words, format!("the image is not ready: 1000 of {} bytes were downloaded", server.base.len()));
    stream.write_all(&server.base[1000..]).await.unwrap();
    until(&catalog, |progress| *progress == Progress::Ready).await;
    images.ensure(ENVIRONMENT, spec()).unwrap();
}

#[tokio::test]
async fn a_download_that_breaks_off_is_tried_again() {
    let server = start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let catalog = catalog(&server);
    catalog.ensure(vec![os_image(Origin::Url(format!("http://{}/x.iso", listener.local_addr().unwrap())))]);
    for whole in [false, true] {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await.unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", server.base.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        let end = if whole { server.base.len() } else { 5000 };
        stream.write_all(&server.base[..end]).await.unwrap();
        if whole {
            until(&catalog, |progress| *progress == Progress::Ready).await;
        } else {
            drop(stream);
            until(&catalog, |progress| matches!(progress, Progress::Failed(_))).await;
        }
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let server = start().await;
    let catalog = catalog(&server);
    catalog.ensure(vec![os_image(Origin::File(server.directory.path().join("none.iso")))]);
    let progress = catalog.progress().remove(0).1;
    assert!(matches!(&progress, Progress::Failed(words) if words.contains("none.iso")), "{progress:?}");
}
