//! `hcp create ingress`: an address, a place or a shard for the ingress of a cluster that runs.

use roost_object::selector::Selector;
use serde_json::{Map, Value, json};

use crate::arguments::CreateIngress;
use crate::day_two::ingress::{self, CONTROLLER_NAMESPACE, Plan, Shard, Wanted};
use crate::high::UsageError;
use crate::manifests::to_yaml;
use crate::plane::{
    ADDRESS_POOLS, AGENTS, HOSTED_CLUSTERS, INGRESS_CONTROLLERS, NAMESPACES, NODES, Plane, PlaneError, Resource, Write,
};

use super::change::checked_name;
use super::error::CommandError;
use super::{create_kubeconfig, printed};

pub(super) async fn run(arguments: &CreateIngress) -> Result<(), CommandError> {
    let name = checked_name(&arguments.name)?;
    let wanted = wanted(arguments)?;
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    let cluster = plane.require(&HOSTED_CLUSTERS, &arguments.plane.namespace, name).await?;
    let guest = create_kubeconfig::guest_of(&plane, &cluster).await?;
    let nodes = guest.list(&NODES, "", "").await?;
    let plan = wanted.plan(&nodes, &agents(&plane).await?)?;
    for warning in &plan.warnings {
        eprintln!("warning: {warning}");
    }
    if arguments.render {
        return Ok(printed::print(&to_yaml(plan.controller.iter().chain(&plan.objects)))?);
    }
    // All is asked before anything is made.
    if !plan.objects.is_empty() && !guest.knows(&ADDRESS_POOLS).await? {
        let means = "nothing there announces addresses";
        return Err(CommandError::KindMissing { cluster: name.to_owned(), kind: "IPAddressPool", means });
    }
    if plan.controller.is_some() && !guest.knows(&INGRESS_CONTROLLERS).await? {
        let means = "it has no ingress operator that could place routers";
        return Err(CommandError::KindMissing { cluster: name.to_owned(), kind: "IngressController", means });
    }
    for write in [Write::DryRun, Write::Real] {
        carry_out(&guest, &wanted, &plan, write).await?;
    }
    if plan.objects.is_empty() {
        return Ok(());
    }
    let (namespace, service) = (&wanted.service_namespace, format!("ingress-{}", wanted.controller()));
    eprintln!("hint: the address is at: kubectl get service -n {namespace} {service}, with the kubeconfig of {name}");
    Ok(())
}

fn wanted(arguments: &CreateIngress) -> Result<Wanted, UsageError> {
    let selector = |text: &String| {
        Selector::parse(text).map_err(|error| UsageError::Value {
            flag: "nodes",
            value: text.clone(),
            problem: error.to_string(),
        })
    };
    let shard = match (&arguments.shard, &arguments.domain) {
        (Some(name), Some(domain)) => {
            checked_name(name)?;
            Some(Shard { name: name.clone(), domain: domain.clone(), routes: pairs("routes", &arguments.routes)? })
        }
        _ => None,
    };
    if shard.as_ref().is_some_and(|shard| shard.name == "default") {
        let problem = "is the cluster's own controller; leave --shard and --domain out to place it".to_owned();
        return Err(UsageError::Value { flag: "shard", value: "default".to_owned(), problem });
    }
    if arguments.addresses.is_empty() && arguments.nodes.is_none() {
        return Err(UsageError::Required("address or --nodes"));
    }
    Ok(Wanted {
        ranges: arguments.addresses.iter().map(|text| ingress::range(text)).collect::<Result<_, _>>()?,
        nodes: arguments.nodes.as_ref().map(selector).transpose()?,
        shard,
        service_namespace: arguments.service_namespace.clone(),
        service_selector: pairs("service-selector", &arguments.service_selector)?,
    })
}

fn pairs(flag: &'static str, texts: &[String]) -> Result<Map<String, Value>, UsageError> {
    let read = |text: &String| {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty())?;
        Some((key.to_owned(), json!(value)))
    };
    texts.iter().map(|text| read(text).ok_or_else(|| UsageError::KeyValue { flag, value: text.clone() })).collect()
}

/// The hosts that may be the cluster's nodes; a plane that discovers none has none.
pub(super) async fn agents(plane: &Plane) -> Result<Vec<Value>, PlaneError> {
    match plane.list(&AGENTS, "", "").await {
        Err(PlaneError::NoSuchKind) => Ok(Vec::new()),
        answer => answer,
    }
}

/// Does what was planned, or tries it.
async fn carry_out(guest: &Plane, wanted: &Wanted, plan: &Plan, write: Write) -> Result<(), CommandError> {
    let said = |words: String| {
        if write == Write::Real {
            eprintln!("{words}");
        }
    };
    for (node, on) in &plan.labels {
        let value = if *on { json!("true") } else { Value::Null };
        let patch = json!({"metadata": {"labels": {&plan.label: value}}});
        guest.merge(&NODES, "", node, &patch, write).await?;
        said(format!("{} {node}", if *on { "labelled node" } else { "took the label from node" }));
    }
    if let Some(controller) = &plan.controller {
        let name = wanted.controller();
        // The operator makes the default controller; it is only placed, and keeps all else.
        let spec = json!({"spec": controller["spec"]});
        match wanted.shard {
            Some(_) => guest.apply(&INGRESS_CONTROLLERS, CONTROLLER_NAMESPACE, controller, write).await?,
            None => guest.merge(&INGRESS_CONTROLLERS, CONTROLLER_NAMESPACE, name, &spec, write).await?,
        };
        said(format!("applied IngressController {CONTROLLER_NAMESPACE}/{name}"));
    }
    for object in &plan.objects {
        let (kind, place) = (object["kind"].as_str().unwrap_or_default(), &object["metadata"]);
        let (namespace, name) =
            (place["namespace"].as_str().unwrap_or_default(), place["name"].as_str().unwrap_or_default());
        let Some(resource) = Resource::of_kind(kind) else { continue };
        if guest.get(&NAMESPACES, "", namespace).await?.is_none() {
            if write == Write::DryRun {
                continue;
            }
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            guest.apply(&NAMESPACES, "", &space, write).await?;
        }
        guest.apply(resource, namespace, object, write).await?;
        said(format!("applied {kind} {namespace}/{name}"));
    }
    Ok(())
}
