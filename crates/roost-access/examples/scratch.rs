//! scratch
use roost_access::rbac::*;
use roost_access::review::*;
use roost_access::token::*;
use roost_access::*;
use serde_json::{Value, json};
fn main() {
    let mode = std::env::args().nth(1).unwrap();
    if mode == "mint" {
        let key =
            roost_pki::PrivateKey::from_pem(&std::fs::read_to_string("/tmp/access-stock/sa.key").unwrap()).unwrap();
        let issuer = TokenIssuer::new("https://kubernetes.default.svc", key);
        let uid = std::env::args().nth(2).unwrap();
        let now = jiff::Timestamp::now();
        let mut c = BoundClaims::default();
        c.namespace = "default".into();
        c.service_account = ObjectReference { name: "bot".into(), uid };
        c.standard.subject = "system:serviceaccount:default:bot".into();
        c.standard.audiences = vec!["https://kubernetes.default.svc".into()];
        c.standard.expires_at = Some(now.as_second() + 600);
        c.standard.id = "abc".into();
        println!("{}", issuer.mint(&c).unwrap().expose());
        return;
    }
    let load = |f: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(format!("/tmp/access-stock/{f}.json")).unwrap()).unwrap()
    };
    let mut index = RbacIndex::default();
    for (f, k) in [
        ("clusterroles", ObjectKind::ClusterRole),
        ("roles", ObjectKind::Role),
        ("clusterrolebindings", ObjectKind::ClusterRoleBinding),
        ("rolebindings", ObjectKind::RoleBinding),
    ] {
        for o in load(f)["items"].as_array().unwrap() {
            index.apply(k, o);
        }
    }
    let graph = roost_access::node::NodeIndex::default();
    let node = roost_access::node::NodeAuthorizer { graph: &graph };
    let list: [&dyn Authorizer; 3] = [&Superusers, &node, &index];
    let chain = Union(&list);
    let mut out = Vec::new();
    let n = std::time::Instant::now();
    let specs = load("specs");
    for spec in specs.as_array().unwrap() {
        let r = AccessReview::new(ReviewKind::Subject, &json!({"spec": spec}), &User::default(), "").unwrap();
        out.push(r.status(&chain.authorize(&r.attributes())));
    }
    eprintln!("{} in {:?}", out.len(), n.elapsed());
    println!("{}", Value::from(out));
}
