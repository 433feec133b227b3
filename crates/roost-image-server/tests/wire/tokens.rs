//! Who gets what, and who does not.

use roost_image_server::{Exposure, Limits, Links};

use crate::client::get;
use crate::harness::{ENVIRONMENT, ISO, TOKEN, start, start_with};

#[tokio::test]
async fn without_the_right_token_there_is_nothing() {
    let server = start().await;
    for path in [
        "/byapikey/bad/4.18/x86_64/full.iso".to_owned(),
        "/byapikey/good.token%00/4.18/x86_64/full.iso".to_owned(),
        format!("/byid/{ENVIRONMENT}/4.18/x86_64/full.iso"),
        format!("/byid/{ENVIRONMENT}/4.18/x86_64/full.iso?api_key=other.token"),
        format!("/images/{ENVIRONMENT}?version=4.18"),
        format!("/images/{ENVIRONMENT}?version=4.18&api_key="),
        format!("/images/{ENVIRONMENT}/pxe-initrd?version=4.18&api_key=bad"),
        "/images/unknown?version=4.18&api_key=good.token".to_owned(),
    ] {
        let heard = get(server.address, &path, "").await;
        assert!(matches!(heard.status, 401 | 404), "{path}: {}", heard.status);
        assert!(heard.body.len() < 100, "{path}");
    }
    // A token of an environment that has no image opens no other.
    assert_eq!(get(server.address, "/byapikey/other.token/4.18/x86_64/full.iso", "").await.status, 404);
}

#[tokio::test]
async fn tricks_with_paths_lead_nowhere() {
    let server = start().await;
    for path in [
        "/../../etc/passwd",
        "/images/../../../etc/passwd?api_key=good.token",
        "/images/..%2f..%2fbase.iso?api_key=good.token",
        "/byapikey/good.token/4.18/x86_64/../../base.iso",
        "/byapikey/good.token/4.18/x86_64/full.iso/",
        "//byapikey/good.token/4.18/x86_64/full.iso",
        "/boot-artifacts/../base.iso?version=4.18",
        "/boot-artifacts/%2e%2e?version=4.18",
        "/byapikey/good.token/4.18/x86_64/full.iso%00",
        "/byapikey/good.token/4.18/x86_64/FULL.ISO",
    ] {
        let heard = get(server.address, path, "").await;
        assert_eq!((heard.status, heard.text()), (404, "404 page not found\n"), "{path}");
    }
    for path in ["/boot-artifacts/kernel?version=../../etc/passwd", "/byapikey/good.token/..%2f/x86_64/full.iso"] {
        assert!(matches!(get(server.address, path, "").await.status, 400 | 404), "{path}");
    }
}

#[tokio::test]
async fn an_environment_that_is_gone_has_no_image() {
    let server = start().await;
    assert!(server.images.remove(ENVIRONMENT));
    assert!(!server.images.remove(ENVIRONMENT));
    assert_eq!(get(server.address, ISO, "").await.status, 404);
}

#[tokio::test]
async fn without_tls_there_is_only_what_firmware_needs() {
    let server = start_with(Limits::default(), Exposure::BootOnly, None).await;
    for path in [ISO, "/metrics"] {
        assert_eq!(get(server.address, path, "").await.status, 404, "{path}");
    }
    let initrd = format!("/images/{ENVIRONMENT}/pxe-initrd?version=4.18&api_key={TOKEN}");
    for path in ["/boot-artifacts/kernel?version=4.18", initrd.as_str(), "/health", "/live"] {
        assert_eq!(get(server.address, path, "").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_script_names_what_is_served() {
    let server = start().await;
    let base = format!("http://{}", server.address);
    let links = Links { images: &base, boot: &base };
    let script = server.images.boot_script(ENVIRONMENT, &links, TOKEN).unwrap();
    let lines: Vec<&str> = script.lines().collect();
    assert_eq!((lines[0], lines[3], lines.len()), ("#!ipxe", "boot", 4));
    assert!(lines[2].ends_with(" nosmt"), "{script}");
    let mut found = 0;
    for word in script.split_whitespace() {
        let address = word.strip_prefix("coreos.live.rootfs_url=").unwrap_or(word);
        if let Some(path) = address.strip_prefix(&base) {
            assert_eq!(get(server.address, path, "").await.status, 200, "{path}");
            found += 1;
        }
    }
    assert_eq!(found, 3, "{script}");
}
