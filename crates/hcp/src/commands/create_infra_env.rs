//! `hcp create infraenv`: a pull secret and an InfraEnv beside it.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::arguments::CreateInfraEnv;
use crate::high::UsageError;
use crate::manifests::to_yaml;
use crate::plane::{INFRA_ENVS, NAMESPACES, Plane, SECRETS, Write};

use super::change::checked_name;
use super::error::CommandError;
use super::files;

pub(super) async fn run(arguments: &CreateInfraEnv) -> Result<(), CommandError> {
    let namespace = checked_name(&arguments.plane.namespace)?;
    let name = checked_name(&arguments.name)?;
    let labels = labels(&arguments.agent_label)?;
    let pull_secret = files::pull_secret(&arguments.pull_secret)?;
    let key = arguments.ssh_key.as_deref().map(files::ssh_key).transpose()?;
    let object = infra_env(arguments, namespace, &labels, key.as_deref());
    if arguments.render {
        return Ok(std::io::stdout().lock().write_all(to_yaml([&object]).as_bytes())?);
    }
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    plane.apply(&NAMESPACES, "", &space, Write::Real).await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": format!("{name}-pull-secret"), "namespace": namespace},
        "data": {".dockerconfigjson": STANDARD.encode(pull_secret)},
    });
    plane.apply(&SECRETS, namespace, &secret, Write::Real).await?;
    let what = format!("InfraEnv {namespace}/{name}");
    let refused = |error| CommandError::Invalid(what.clone(), error);
    plane.create(&INFRA_ENVS, namespace, &object, Write::Real).await.map_err(refused)?;
    eprintln!("created {what}");
    eprintln!(
        "hint: the image is at: kubectl get infraenv -n {namespace} {name} -o jsonpath='{{.status.isoDownloadURL}}'"
    );
    eprintln!("hint: look for hosts with: hcp get hosts -n {namespace}");
    Ok(())
}

fn labels(pairs: &[String]) -> Result<Map<String, Value>, UsageError> {
    let read = |pair: &String| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), Value::from(value)))
    };
    let wrong = |pair: &String| UsageError::Value {
        flag: "agent-label",
        value: pair.clone(),
        problem: "must be KEY=VALUE".to_owned(),
    };
    pairs.iter().map(|pair| read(pair).ok_or_else(|| wrong(pair))).collect()
}

fn infra_env(arguments: &CreateInfraEnv, namespace: &str, labels: &Map<String, Value>, key: Option<&str>) -> Value {
    let name = &arguments.name;
    let mut spec = json!({
        "pullSecretRef": {"name": format!("{name}-pull-secret")},
        "cpuArchitecture": arguments.arch,
    });
    if let Some(key) = key {
        spec["sshAuthorizedKey"] = json!(key.trim());
    }
    if !labels.is_empty() {
        spec["agentLabels"] = json!(labels);
    }
    if !arguments.ntp_source.is_empty() {
        spec["additionalNTPSources"] = json!(arguments.ntp_source);
    }
    if !arguments.kernel_argument.is_empty() {
        let append = |value: &String| json!({"operation": "append", "value": value});
        spec["kernelArguments"] = arguments.kernel_argument.iter().map(append).collect();
    }
    if arguments.auto_approve {
        spec["agentApproval"] = json!({"autoApprove": true});
    }
    json!({
        "apiVersion": INFRA_ENVS.api_version(), "kind": INFRA_ENVS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command, CreateWhat};

    #[test]
    fn flags_become_an_infra_env() {
        let words = ["hcp", "create", "infraenv", "--name", "a", "-n", "hardware", "--pull-secret", "p.json"];
        let more = ["--agent-label", "site=edge", "--kernel-argument", "nosmt", "--auto-approve"];
        let words: Vec<&str> = words.into_iter().chain(more).collect();
        let Ok(Arguments { command: Command::Create(create) }) = Arguments::read_from(&words) else { panic!("no") };
        let CreateWhat::InfraEnv(arguments) = create.what else { panic!("another command") };
        let labels = labels(&arguments.agent_label).unwrap();
        let object = infra_env(&arguments, "hardware", &labels, Some("ssh-ed25519 AAAA\n"));
        assert_eq!(object["spec"]["pullSecretRef"]["name"], "a-pull-secret");
        assert_eq!(object["spec"]["agentLabels"]["site"], "edge");
        assert_eq!(object["spec"]["kernelArguments"][0]["operation"], "append");
        assert_eq!(object["spec"]["agentApproval"]["autoApprove"], true);
        assert_eq!(object["spec"]["sshAuthorizedKey"], "ssh-ed25519 AAAA");
        assert!(super::labels(&["site".to_owned()]).is_err());
    }
}
