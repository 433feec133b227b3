//! Who gets what, and who does not.

use std::sync::Arc;

use roost_image_server::{
    Catalog, DownloadSettings, Exposure, Gate, ImageSpec, Images, Limits, Links, Origin, OsImage, ScriptRequest,
};

use crate::client::get;
use crate::harness::{ENVIRONMENT, ISO, TOKEN, base_image, noise, os_image, spec, start, start_with, write};

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
    let server = start_with(Limits::default(), Exposure::BootOnly, None).await;
    let path = format!("/api/assisted-install/v2/infra-envs/{ENVIRONMENT}/downloads/files?file_name=ipxe-script");
    let answer = get(server.address, &format!("{path}&api_key={TOKEN}"), "").await;
    assert_eq!(answer.status, 200);
    let script = String::from_utf8(answer.body).unwrap();
    let lines: Vec<&str> = script.lines().collect();
    assert_eq!((lines[0], lines[3], lines.len()), ("#!ipxe", "boot", 4));
    assert!(lines[2].ends_with(" nosmt"), "{script}");
    let mut found = 0;
    for word in script.split_whitespace() {
        let address = word.strip_prefix("coreos.live.rootfs_url=").unwrap_or(word);
        if let Some(path) = address.strip_prefix("http://boot.test") {
            assert_eq!(get(server.address, path, "").await.status, 200, "{path}");
            found += 1;
        }
    }
    assert_eq!(found, 3, "{script}");
    for (token, status) in [("other.token", 401), ("", 401)] {
        assert_eq!(get(server.address, &format!("{path}&api_key={token}"), "").await.status, status, "{token}");
    }
    let other = path.replace("ipxe-script", "discovery.ign");
    assert_eq!(get(server.address, &format!("{other}&api_key={TOKEN}"), "").await.status, 404);
}

#[test]
fn a_host_with_a_system_is_sent_to_its_disk() {
    struct Installed;
    impl Gate for Installed {
        fn environment(&self, _: &str) -> Option<String> {
            Some(ENVIRONMENT.to_owned())
        }
        fn boots_disk(&self, _: &str, card: &str) -> bool {
            card == "52:54:00:00:00:01"
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(directory.path().join("kept"), DownloadSettings::default());
    catalog.ensure(vec![os_image(Origin::File(write(directory.path(), &base_image())))]);
    let images = Images::new(Arc::new(catalog));
    images.ensure(ENVIRONMENT, ImageSpec { is_boot_order_controlled: true, ..spec() }).unwrap();
    let ask = |card| {
        images.boot_script(ENVIRONMENT, TOKEN, ScriptRequest { card, is_controlled: false }, &Installed).unwrap()
    };
    let first = ask("").unwrap();
    assert!(first.contains("ipxe_script_type=boot-order-control&api_key=good.token&mac=${net0/mac}"), "{first}");
    assert!(ask("52:54:00:00:00:02").unwrap().contains("\nboot\n"));
    assert_eq!(ask("52:54:00:00:00:01"), None);
}

#[tokio::test]
async fn a_disk_is_served_by_its_digest() {
    let server = start().await;
    let content = noise(300_000, 9);
    let path = server.directory.path().join("disk.raw.gz");
    std::fs::write(&path, &content).unwrap();
    assert_eq!(server.images.disk("4.18", "x86_64").unwrap(), None);
    let origin = Origin::File(server.directory.path().join("base.iso"));
    server.images.catalog().ensure(vec![OsImage { disk: Some(path), ..os_image(origin) }]);
    let disk = loop {
        match server.images.disk("4.18", "x86_64") {
            Ok(disk) => break disk.unwrap(),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    };
    assert_eq!(disk.length, 300_000);
    let link = Links { images: "", boot: "" }.disk(&disk);
    assert_eq!(get(server.address, &link, "").await.body, content);
    let part = get(server.address, &link, "Range: bytes=299990-\r\n").await;
    assert_eq!((part.status, part.body.as_slice()), (206, &content[299_990..]));
    for path in ["/disks/sha256-", "/disks/x", &format!("/disks/sha256-{}", "0".repeat(64))] {
        assert_eq!(get(server.address, path, "").await.status, 404, "{path}");
    }
}
