//! What machines are booted with.

use roost_pki::Secret;
use serde_json::json;

use super::{Format, Pointer, UserDataError, user_data};
use crate::payload::tests::AUTHORITY;
use crate::payload::{Artifact, Proxy};
use crate::{Config, SpecVersion};

fn pointer() -> Pointer {
    Pointer {
        endpoint: "ignition.demo.example.com:30080".to_owned(),
        address: None,
        certificate_authority: "CA".to_owned(),
        token: Secret::new("token".to_owned()),
        node_pool: "clusters/workers".to_owned(),
        config_hash: "1a2b3c4d".to_owned(),
        proxy: None,
        agent: None,
    }
}

#[test]
fn the_pointer_is_upstreams() {
    let proxy = Some(Proxy {
        http: Some("http://p:3128".to_owned()),
        https: None,
        no_proxy: vec!["a".to_owned(), "b".to_owned()],
    });
    let config = user_data(&Pointer { proxy, ..pointer() });
    assert_eq!(
        config.to_value(),
        json!({"ignition": {
            "version": "3.2.0",
            "config": {"merge": [{
                "source": "https://ignition.demo.example.com:30080/ignition",
                "httpHeaders": [
                    {"name": "Authorization", "value": "Bearer dG9rZW4="},
                    {"name": "NodePool", "value": "clusters/workers"},
                    {"name": "TargetConfigVersionHash", "value": "1a2b3c4d"},
                ],
            }]},
            "proxy": {"httpProxy": "http://p:3128", "noProxy": ["a", "b"]},
            "security": {"tls": {"certificateAuthorities": [{"source": "data:text/plain;base64,Q0E="}]}},
        }})
    );
    config.validate().unwrap();
    assert!(user_data(&pointer()).to_value()["ignition"].get("proxy").is_none());
}

#[test]
fn an_address_stands_in_for_the_name() {
    for (endpoint, address, url) in [
        ("host:30080", "10.0.0.1", "https://10.0.0.1:30080/ignition"),
        ("host", "10.0.0.1", "https://10.0.0.1/ignition"),
        ("host:30080", "fd00::1", "https://[fd00::1]:30080/ignition"),
        ("[fd00::2]:30080", "fd00::1", "https://[fd00::1]:30080/ignition"),
        ("[fd00::2]", "fd00::1", "https://[fd00::1]/ignition"),
    ] {
        let pointer = Pointer { endpoint: endpoint.to_owned(), address: Some(address.parse().unwrap()), ..pointer() };
        assert_eq!(pointer.url(), url);
        user_data(&pointer).validate().unwrap();
    }
}

#[test]
fn a_pointer_is_read_back() {
    let target = Pointer::read(&user_data(&pointer())).unwrap();
    assert_eq!(target.url, pointer().url());
    assert_eq!(target.certificate_authority, "CA\n");
    let headers: Vec<(&str, &str)> =
        target.headers.iter().map(|(name, value)| (name.as_str(), value.expose().as_str())).collect();
    assert_eq!(headers[0], ("Authorization", "Bearer dG9rZW4="));
    assert_eq!(headers.len(), 3);
    assert_eq!(Pointer::read(&Config::new(SpecVersion::V3_2)), None);
    assert!(!format!("{target:?} {:?}", pointer()).contains("token="), "nothing secret prints");
}

#[test]
fn clouds_carry_the_same_config() {
    for format in Format::ALL {
        let rendered = format.render(&Pointer { certificate_authority: AUTHORITY.to_owned(), ..pointer() }).unwrap();
        assert_eq!(format.name().parse(), Ok(format));
        assert!(!format!("{rendered:?}").contains("dG9rZW4"));
        if format == Format::CloudInit {
            assert!(rendered.text.starts_with("#cloud-config\n"));
        } else {
            Config::parse(rendered.text.as_bytes()).unwrap().validate().unwrap();
        }
    }
    assert!("vmware".parse::<Format>().is_err());
    let large = Pointer { certificate_authority: AUTHORITY.repeat(40), ..pointer() };
    assert!(matches!(Format::Aws.render(&large), Err(UserDataError::TooLarge { limit: 16384, .. })));
    assert!(Format::Gcp.render(&large).is_ok() && Format::Libvirt.render(&large).is_ok());
}

#[test]
fn cloud_init_pins_and_checks() {
    let agent = Artifact {
        path: "/usr/local/bin/hcp-agent".to_owned(),
        mode: 0o755,
        url: "https://ignition.demo.example.com:30080/agent".to_owned(),
        hash: format!("sha256-{}", "a".repeat(64)),
    };
    let with = |agent: Artifact| Pointer {
        agent: Some(agent),
        address: Some([10, 0, 0, 1].into()),
        certificate_authority: AUTHORITY.to_owned(),
        ..pointer()
    };
    let text = Format::CloudInit.render(&with(agent.clone())).unwrap().text;
    let document = roost_object::yaml::read(text.as_bytes()).unwrap().value;
    assert_eq!(document["write_files"][0]["permissions"], "0600");
    let written = document["write_files"][0]["content"].as_str().unwrap();
    let by_name = Pointer { address: None, ..with(agent.clone()) };
    assert_eq!(Config::parse(written.as_bytes()).unwrap(), user_data(&by_name), "the name stays, for the certificate");
    assert_eq!(document["write_files"][1]["content"], AUTHORITY);
    let hosts = &document["write_files"][2];
    assert_eq!((&hosts["path"], &hosts["append"]), (&json!("/etc/hosts"), &json!(true)));
    assert_eq!(hosts["content"], "10.0.0.1 ignition.demo.example.com\n");
    let commands = document["runcmd"].as_array().unwrap();
    assert!(commands.iter().all(serde_json::Value::is_array), "no shell reads what is not meant for it: {text}");
    let fetch = commands[0].to_string();
    assert!(fetch.contains("\"ignition.demo.example.com:30080:10.0.0.1\"") && fetch.contains("--cacert"), "{fetch}");
    assert!(commands[1].to_string().contains("sha256sum --check"));
    let joins = json!(["/usr/local/bin/hcp-agent", "join", "--user-data", "/etc/roost/user-data.ign"]);
    assert_eq!(commands.last(), Some(&joins));
    for broken in [
        Artifact { url: "http://plain/agent".to_owned(), ..agent.clone() },
        Artifact { url: "https://x/a;rm -rf /".to_owned(), ..agent.clone() },
        Artifact { hash: "md5-00".to_owned(), ..agent.clone() },
        Artifact { hash: format!("sha256-{}", "'".repeat(64)), ..agent },
    ] {
        assert_eq!(Format::CloudInit.render(&with(broken)), Err(UserDataError::Agent));
    }
}

#[test]
fn a_pointer_is_read_back_as_it_was_written() {
    let proxy = Some(Proxy { http: None, https: Some("http://p:1".to_owned()), no_proxy: vec!["a".to_owned()] });
    let written = Pointer { proxy, certificate_authority: AUTHORITY.to_owned(), ..pointer() };
    let read = Pointer::from_config(&user_data(&written)).unwrap();
    assert_eq!(user_data(&read), user_data(&written));
    assert_eq!(read.clone().with_host("other").url(), "https://other:30080/ignition");
    assert_eq!((read.host(), read.token.expose().as_str()), ("ignition.demo.example.com", "token"));
    for host in ["[fd00::1]:30080", "[fd00::1]"] {
        assert_eq!(Pointer { endpoint: host.to_owned(), ..pointer() }.host(), "fd00::1");
    }
    assert!(Pointer::from_config(&Config::new(SpecVersion::V3_2)).is_none());
}
