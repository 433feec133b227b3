//! Agents, environments, machines and bare-metal hosts: what people write, and what they read back.

use kube::api::{Api, ListParams, PostParams};
use roost_api::agent_install::{Agent, HostRole, HostStage, HostState, InfraEnv, NMStateConfig};
use roost_api::capi_provider::AgentMachine;
use roost_api::cluster_api::{Machine, MachineAddressType};
use roost_api::metal3::{BareMetalHost, OperationalStatus, ProvisioningState};
use serde_json::{Value, json};

use crate::requests::{plane, refusal, request, table};

const AGENTS: &str = "/apis/agent-install.openshift.io/v1beta1/namespaces/default/agents";
const INFRA_ENVS: &str = "/apis/agent-install.openshift.io/v1beta1/namespaces/default/infraenvs";

fn agent(name: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "Agent",
        "metadata": {
            "name": name,
            "labels": {"infraenvs.agent-install.openshift.io": "pool-a", "agentMachineRef": "blue-np1-x7k2p"},
            "finalizers": ["agent.agent-install.openshift.io/ai-deprovision"],
        },
        "spec": spec,
        "status": status,
    })
}

/// Creates an object with its status, which takes two requests.
async fn create(client: &kube::Client, collection: &str, object: &Value) -> Value {
    let mut created = request(client, "POST", collection, Some(object)).await.expect("it is accepted");
    let name = object["metadata"]["name"].as_str().expect("a name");
    created["status"] = object["status"].clone();
    let status = format!("{collection}/{name}/status");
    request(client, "PUT", &status, Some(&created)).await.expect("its status is accepted")
}

#[tokio::test]
async fn agents_are_shown_as_people_know_them() {
    let client = plane().await;
    let bound = agent(
        "234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f",
        &json!({"approved": true, "role": "worker", "clusterDeploymentName": {"name": "vcluster1", "namespace": "clusters-vcluster1"}}),
        &json!({"role": "worker", "progress": {"currentStage": "Done"}, "inventory": {"hostname": "node-07"}}),
    );
    let free = agent(
        "8fc583b5-b7e7-0cf4-8068-179ea6e069e8",
        &json!({"approved": true, "role": "", "hostname": "spare"}),
        &json!({"role": "auto-assign"}),
    );
    for object in [&bound, &free] {
        create(&client, AGENTS, object).await;
    }
    let (columns, rows) = table(&client, AGENTS).await;
    assert_eq!(columns, ["Name", "Cluster", "Approved", "Role", "Stage", "Hostname*", "Requested Hostname*"]);
    assert_eq!(
        rows,
        [
            json!(["234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f", "vcluster1", true, "worker", "Done", "node-07", null]),
            json!(["8fc583b5-b7e7-0cf4-8068-179ea6e069e8", null, true, "auto-assign", null, null, "spare"]),
        ]
    );
}

#[tokio::test]
async fn an_agent_survives_its_types() {
    let client = plane().await;
    let spec = json!({
        "approved": true,
        "role": "worker",
        "hostname": "node-07",
        "installation_disk_id": "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4",
        "clusterDeploymentName": {"name": "blue", "namespace": "clusters-blue"},
        "machineConfigPool": "ignition",
        "ignitionEndpointTokenReference": {"name": "agent-user-data-np1-abc", "namespace": "clusters-blue"},
        "ignitionEndpointHTTPHeaders": {"NodePool": "clusters/np1", "TargetConfigVersionHash": "1a2b3c4d"},
    });
    let status = json!({
        "kind": "AddToExistingClusterHost",
        "role": "worker",
        "debugInfo": {"state": "installing-in-progress", "stateInfo": "Rebooting", "eventsURL": "https://events"},
        "progress": {
            "currentStage": "Rebooting",
            "installationPercentage": 55,
            "progressStages": ["Starting installation", "Installing"],
        },
        "validationsInfo": {"hardware": [{"id": "has-inventory", "status": "success", "message": "it has"}]},
        "conditions": [{
            "type": "Bound", "status": "True", "reason": "Bound", "message": "bound",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }],
        "inventory": {
            "cpu": {"count": 8, "architecture": "x86_64", "flags": ["vmx"]},
            "interfaces": [{
                "name": "eno1", "macAddress": "52:54:00:aa:bb:cc", "flags": [], "ipV4Addresses": ["192.0.2.7/24"],
                "ipV6Addresses": [],
            }],
            "disks": [{
                "id": "/dev/disk/by-id/wwn-1", "byID": "/dev/disk/by-id/wwn-1", "driveType": "SSD",
                "installationEligibility": {"eligible": true, "notEligibleReasons": []},
            }],
        },
        "csrStatus": {"approvedCSRs": [{"name": "csr-1", "type": "client", "approvedAt": "2026-01-02T03:04:05Z"}]},
    });
    let stored = create(&client, AGENTS, &agent("6f1c0f3e", &spec, &status)).await;
    assert_eq!(stored["spec"], spec);
    assert_eq!(stored["status"], status);

    let agents: Api<Agent> = Api::default_namespaced(client);
    let typed = agents.get("6f1c0f3e").await.unwrap();
    assert_eq!(typed.spec.role, HostRole::Worker);
    let typed_status = typed.status.clone().unwrap();
    assert_eq!(typed_status.debug_info.unwrap().state, Some(HostState::InstallingInProgress));
    assert_eq!(typed_status.progress.unwrap().current_stage, Some(HostStage::Rebooting));
    let written = serde_json::to_value(&typed).unwrap();
    assert_eq!(written["spec"], spec);
    assert_eq!(written["status"], status);
}

#[tokio::test]
async fn an_object_without_a_spec_can_be_read() {
    let client = plane().await;
    let bare = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"name": "bare"},
    });
    request(&client, "POST", AGENTS, Some(&bare)).await.unwrap();
    let agents: Api<Agent> = Api::default_namespaced(client);
    let list = agents.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);
    assert!(!list.items[0].spec.approved);
}

#[tokio::test]
async fn environments_have_defaults_and_limits() {
    let client = plane().await;
    let mut environment = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "InfraEnv",
        "metadata": {"name": "hardware-inventory"},
        "spec": {
            "pullSecretRef": {"name": "pull-secret"},
            "sshAuthorizedKey": "ssh-ed25519 AAAA",
            "agentApproval": {},
            "kernelArguments": [{"operation": "append", "value": "console=ttyS1,115200n8"}],
            "nmStateConfigLabelSelector": {"matchLabels": {"pool": "a"}},
        },
    });
    let stored = request(&client, "POST", INFRA_ENVS, Some(&environment)).await.unwrap();
    assert_eq!(stored["spec"]["cpuArchitecture"], "x86_64");
    assert_eq!(stored["spec"]["ipxeScriptType"], "DiscoveryImageAlways");
    assert_eq!(stored["spec"]["agentApproval"], json!({"autoApprove": false}));
    let (columns, _) = table(&client, INFRA_ENVS).await;
    assert_eq!(columns, ["Name", "ISO Created At", "ISO URL*"]);
    let typed: InfraEnv = Api::default_namespaced(client.clone()).get("hardware-inventory").await.unwrap();
    assert_eq!(typed.spec.pull_secret_ref.name, "pull-secret");

    environment["metadata"]["name"] = json!("other");
    environment["spec"] = json!({"ipxeScriptType": "Never", "kernelArguments": [{"value": "two words"}]});
    let refused = refusal(&client, INFRA_ENVS, &environment).await;
    for part in [
        "spec.pullSecretRef: Required value",
        "spec.ipxeScriptType: Unsupported value: \"Never\"",
        "spec.kernelArguments[0].value: Invalid value: \"two words\"",
    ] {
        assert!(refused.contains(part), "{part} is not in: {refused}");
    }
}

#[tokio::test]
async fn network_configurations_keep_what_they_say() {
    let client = plane().await;
    let collection = "/apis/agent-install.openshift.io/v1beta1/namespaces/default/nmstateconfigs";
    let config = json!({"interfaces": [{"name": "eth0", "type": "ethernet", "ipv4": {"dhcp": true}}]});
    let mut object = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "NMStateConfig",
        "metadata": {"name": "host-1"},
        "spec": {"config": config, "interfaces": [{"name": "eth0", "macAddress": "02:00:00:80:12:14"}]},
    });
    request(&client, "POST", collection, Some(&object)).await.unwrap();
    let typed: NMStateConfig = Api::default_namespaced(client.clone()).get("host-1").await.unwrap();
    assert_eq!(serde_json::to_value(typed.spec).unwrap()["config"], config);

    object["metadata"]["name"] = json!("host-2");
    object["spec"]["interfaces"][0]["macAddress"] = json!("02-00");
    assert!(refusal(&client, collection, &object).await.contains("spec.interfaces[0].macAddress"));
}

#[tokio::test]
async fn machines_of_agents_have_two_versions() {
    let client = plane().await;
    let collection = |version: &str| {
        format!("/apis/capi-provider.agent-install.openshift.io/{version}/namespaces/default/agentmachines")
    };
    let machine = json!({
        "apiVersion": "capi-provider.agent-install.openshift.io/v1alpha1",
        "kind": "AgentMachine",
        "metadata": {"name": "blue-np1-x7k2p"},
        "spec": {"agentLabelSelector": {"matchLabels": {"size": "large"}}},
        "status": {
            "ready": true,
            "agentRef": {"name": "6f1c0f3e", "namespace": "pool-a"},
            "addresses": [{"type": "InternalDNS", "address": "node-07"}],
        },
    });
    create(&client, &collection("v1alpha1"), &machine).await;
    let stored = request(&client, "GET", &format!("{}/blue-np1-x7k2p", collection("v1beta1")), None).await.unwrap();
    assert_eq!(stored["status"], machine["status"]);
    let typed: AgentMachine = Api::default_namespaced(client).get("blue-np1-x7k2p").await.unwrap();
    assert_eq!(typed.status.unwrap().addresses[0].type_, MachineAddressType::InternalDns);
}

#[tokio::test]
async fn bare_metal_hosts_are_shown_as_people_know_them() {
    let client = plane().await;
    let collection = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": "rack-1"},
        "spec": {
            "online": true,
            "bootMACAddress": "52:54:00:aa:bb:cc",
            "bmc": {"address": "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1", "credentialsName": "rack-1-bmc"},
            "raid": {"hardwareRAIDVolumes": null},
        },
        "status": {
            "errorMessage": "",
            "operationalStatus": "OK",
            "poweredOn": true,
            "provisioning": {"ID": "1", "state": "externally provisioned"},
        },
    });
    let stored = create(&client, collection, &host).await;
    assert_eq!(stored["spec"]["automatedCleaningMode"], "metadata");
    assert_eq!(stored["status"]["errorCount"], 0);
    let (columns, rows) = table(&client, collection).await;
    assert_eq!(columns, ["Name", "Status*", "State", "Consumer", "BMC*", "Online", "Error", "Age"]);
    assert_eq!(rows[0][1], "OK");
    assert_eq!(rows[0][2], "externally provisioned");
    assert_eq!(rows[0][5], "true");
    let typed: BareMetalHost = Api::default_namespaced(client).get("rack-1").await.unwrap();
    let status = typed.status.unwrap();
    assert_eq!(status.operational_status, OperationalStatus::Ok);
    assert_eq!(status.provisioning.state, ProvisioningState::ExternallyProvisioned);
}

#[tokio::test]
async fn machines_keep_what_is_not_used_here() {
    let client = plane().await;
    let collection = "/apis/cluster.x-k8s.io/v1beta1/namespaces/default/machines";
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Machine",
        "metadata": {"name": "blue-np1-x7k2p"},
        "spec": {
            "clusterName": "blue",
            "bootstrap": {"dataSecretName": "user-data-np1-1a2b3c4d"},
            "infrastructureRef": {
                "apiVersion": "capi-provider.agent-install.openshift.io/v1beta1",
                "kind": "AgentMachine",
                "name": "blue-np1-x7k2p",
            },
            "readinessGates": [{"conditionType": "Warm"}],
        },
        "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": "node-07"}},
    });
    let stored = create(&client, collection, &machine).await;
    assert_eq!(stored["spec"]["readinessGates"], machine["spec"]["readinessGates"]);
    let machines: Api<Machine> = Api::default_namespaced(client.clone());
    let typed = machines.get("blue-np1-x7k2p").await.unwrap();
    assert_eq!(typed.spec.other["readinessGates"], machine["spec"]["readinessGates"]);
    let replaced = machines.replace("blue-np1-x7k2p", &PostParams::default(), &typed).await.unwrap();
    assert_eq!(replaced.spec, typed.spec);
    let (columns, rows) = table(&client, collection).await;
    assert_eq!(columns, ["Name", "Cluster", "NodeName", "ProviderID", "Phase", "Age", "Version"]);
    assert_eq!(rows[0][2], "node-07");
}
