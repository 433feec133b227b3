//! Methods, ranges and conditions.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::{ask, exchange, get};
use crate::harness::{ENVIRONMENT, ISO, UPDATED, joined, spec, start};

#[tokio::test]
async fn the_whole_image_is_what_it_should_be() {
    let server = start().await;
    let expected = server.expected();
    let heard = get(server.address, ISO, "").await;
    assert_eq!(heard.status, 200);
    assert!(heard.body == expected);
    assert_eq!(heard.header("accept-ranges"), Some("bytes"));
    assert_eq!(heard.header("last-modified"), Some("Tue, 14 Nov 2023 22:13:20 GMT"));
    let disposition = format!("attachment; filename={ENVIRONMENT}-discovery.iso");
    assert_eq!(heard.header("content-disposition"), Some(disposition.as_str()));

    let head = ask(server.address, &format!("HEAD {ISO} HTTP/1.1\r\nRange: bytes=0-1\r\n\r\n")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "etag", "last-modified", "content-type", "content-disposition"] {
        assert_eq!(head.header(name), heard.header(name), "{name}");
    }
}

#[tokio::test]
async fn every_path_to_the_same_image_gives_the_same() {
    let server = start().await;
    let tag = get(server.address, ISO, "").await.header("etag").unwrap().to_owned();
    for (path, headers) in [
        ("/bytoken/good.token/4.18/x86_64/full.iso".to_owned(), ""),
        ("/byapikey/good.token/418.94.2026/x86_64/full.iso".to_owned(), ""),
        (format!("/byid/{ENVIRONMENT}/4.18/x86_64/full.iso?api_key=good.token"), ""),
        (format!("/images/{ENVIRONMENT}?version=4.18&arch=x86_64&type=full-iso&image_token=good.token"), ""),
        (format!("/images/{ENVIRONMENT}"), "Authorization: Bearer good.token\r\n"),
        (format!("/images/{ENVIRONMENT}"), "Image-Token: good.token\r\n"),
    ] {
        let heard = get(server.address, &path, headers).await;
        assert_eq!((heard.status, heard.header("etag")), (200, Some(tag.as_str())), "{path}");
    }
}

#[tokio::test]
async fn any_range_is_that_slice() {
    let server = start().await;
    let expected = server.expected();
    let length = expected.len();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let mut state = 7_usize;
    for _ in 0..300 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let first = (state >> 33) % length;
        let last = (first + (state >> 20) % 70_000).min(length - 1);
        let request = format!("GET {ISO} HTTP/1.1\r\nRange: bytes={first}-{last}\r\n\r\n");
        let heard = exchange(&mut stream, &request).await;
        assert_eq!(heard.status, 206);
        let range = format!("bytes {first}-{last}/{length}");
        assert_eq!(heard.header("content-range"), Some(range.as_str()));
        assert!(heard.body == expected[first..=last], "{first}-{last}");
    }
    for (header, first, last) in [
        ("0-0".to_owned(), 0, 0),
        ("-1".to_owned(), length - 1, length - 1),
        (format!("{}-", length - 5), length - 5, length - 1),
    ] {
        let heard = get(server.address, ISO, &format!("Range: bytes={header}\r\n")).await;
        assert_eq!(heard.status, 206, "{header}");
        assert!(heard.body == expected[first..=last], "{header}");
    }
}

#[tokio::test]
async fn ranges_that_cannot_be_are_refused() {
    let server = start().await;
    let length = server.base.len();
    for range in [format!("{length}-"), "0-1,5-6".to_owned(), "-0".to_owned()] {
        let heard = get(server.address, ISO, &format!("Range: bytes={range}\r\n")).await;
        assert_eq!(heard.status, 416, "{range}");
        let unsatisfied = format!("bytes */{length}");
        assert_eq!(heard.header("content-range"), Some(unsatisfied.as_str()));
    }
    for range in ["bytes=9-1", "bytes=x", "lines=0-1"] {
        assert_eq!(get(server.address, ISO, &format!("Range: {range}\r\n")).await.status, 200, "{range}");
    }
}

#[tokio::test]
async fn conditions_are_kept() {
    let server = start().await;
    let tag = get(server.address, ISO, "").await.header("etag").unwrap().to_owned();
    let (same, later, earlier) =
        ("Tue, 14 Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:13:21 GMT", "Tue, 14 Nov 2023 22:13:19 GMT");
    assert_eq!(UPDATED, 1_700_000_000, "which is that moment");
    for (headers, expected) in [
        (format!("If-None-Match: {tag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{tag}\r\n"), 304),
        ("If-None-Match: *\r\n".to_owned(), 304),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200),
        (format!("If-Modified-Since: {same}\r\n"), 304),
        (format!("If-Modified-Since: {later}\r\n"), 304),
        (format!("If-Modified-Since: {earlier}\r\n"), 200),
        ("If-Modified-Since: yesterday\r\n".to_owned(), 200),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {later}\r\n"), 200),
        (format!("If-Match: {tag}\r\n"), 200),
        ("If-Match: \"x\"\r\n".to_owned(), 412),
        (format!("If-Match: W/{tag}\r\n"), 412),
        (format!("If-Unmodified-Since: {earlier}\r\n"), 412),
        (format!("If-Unmodified-Since: {same}\r\n"), 200),
        (format!("Range: bytes=0-1\r\nIf-Range: {tag}\r\n"), 206),
        (format!("Range: bytes=0-1\r\nIf-Range: {same}\r\n"), 206),
        ("Range: bytes=0-1\r\nIf-Range: \"x\"\r\n".to_owned(), 200),
        (format!("Range: bytes=0-1\r\nIf-Range: {earlier}\r\n"), 200),
    ] {
        assert_eq!(get(server.address, ISO, &headers).await.status, expected, "{headers}");
    }
}

#[tokio::test]
async fn a_changed_environment_is_another_image() {
    let server = start().await;
    let tag = get(server.address, ISO, "").await.header("etag").unwrap().to_owned();
    server.images.ensure(ENVIRONMENT, spec()).unwrap();
    assert_eq!(get(server.address, ISO, "").await.header("etag"), Some(tag.as_str()));
    let mut changed = spec();
    changed.kernel_arguments.clear();
    server.images.ensure(ENVIRONMENT, changed).unwrap();
    let heard = get(server.address, ISO, &format!("Range: bytes=5-\r\nIf-Range: {tag}\r\n")).await;
    assert_eq!(heard.status, 200, "a resumed download must not mix two images");
    assert_ne!(heard.header("etag"), Some(tag.as_str()));
}

#[tokio::test]
async fn parts_for_the_network_are_there() {
    let server = start().await;
    let base = roost_image::BaseImage::read(server.base.as_slice()).unwrap();
    let part =
        |extent: roost_image::Extent| &server.base[extent.offset as usize..(extent.offset + extent.length) as usize];
    let kernel = get(server.address, "/boot-artifacts/kernel?version=4.18&arch=x86_64", "").await;
    assert!(kernel.body == part(base.kernel));
    let rootfs = get(server.address, "/boot-artifacts/rootfs?version=418.94.2026", "Range: bytes=9-99\r\n").await;
    assert!(rootfs.body == part(base.rootfs.unwrap())[9..100]);
    let path = format!("/images/{ENVIRONMENT}/pxe-initrd?version=4.18&arch=x86_64&api_key=good.token");
    let initrd = get(server.address, &path, "").await;
    assert!(initrd.body == joined(&server.base, &base.network_initrd((), &spec().archive)));
    for (path, status) in [
        ("/boot-artifacts/kernel?version=4.19", 400),
        ("/boot-artifacts/kernel?version=4.18&arch=aarch64", 400),
        ("/boot-artifacts/kernel", 400),
        ("/boot-artifacts/initrd?version=4.18", 404),
        ("/byapikey/good.token/4.19/x86_64/full.iso", 400),
    ] {
        assert_eq!(get(server.address, path, "").await.status, status, "{path}");
    }
}

#[tokio::test]
async fn the_minimal_image_says_where_the_rest_is() {
    let server = start().await;
    let path = ISO.replace("full.iso", "minimal.iso");
    let heard = get(server.address, &path, "").await;
    assert_eq!(heard.status, 200);
    assert!(heard.body.len() < 1 << 20, "{}", heard.body.len());
    let minimal = roost_image::BaseImage::read(heard.body.as_slice()).unwrap();
    assert_eq!(minimal.rootfs, None);
    let default = minimal.areas.kernel_arguments.unwrap().default;
    let rootfs = "http://boot.test/boot-artifacts/rootfs?arch=x86_64&version=4.18";
    assert_eq!(default, format!("ignition.firstboot coreos.live.rootfs_url={rootfs}"));
    let part = get(server.address, &path, "Range: bytes=99000-300000\r\n").await;
    assert!(part.body == heard.body[99_000..=300_000]);
}

#[tokio::test]
async fn requests_may_follow_each_other_at_once() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let ranged = format!("GET {ISO} HTTP/1.1\r\nRange: bytes=0-9\r\n\r\n");
    stream.write_all(format!("{ranged}GET /live HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let first = exchange(&mut stream, "").await;
    assert_eq!((first.status, first.body.len()), (206, 10));
    let second = exchange(&mut stream, &ranged).await;
    assert_eq!((second.status, second.text()), (200, "ok\n"));
}

#[tokio::test]
async fn nobody_writes_here() {
    let server = start().await;
    for method in ["PUT", "POST", "DELETE", "OPTIONS"] {
        let heard = ask(server.address, &format!("{method} {ISO} HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")).await;
        assert_eq!((heard.status, heard.header("connection")), (405, Some("close")), "{method}");
    }
    assert_eq!(get(server.address, "/health", "").await.status, 200);
    assert!(get(server.address, "/metrics", "").await.text().contains("answers_total{class=\"4xx\"} 4\n"));
}
