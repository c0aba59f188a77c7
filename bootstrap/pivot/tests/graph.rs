//! Tests with tables of small graphs.

mod facts;

use pivot::graph::{Facts, Fate, Graph, Node, Scope, UNOWNED};
use pivot::kinds::Kind;
use pivot::names;
use pivot::object::Key;
use serde_json::{Value, json};

fn kind(group: &str, kind: &str) -> Kind {
    let root = ["Cluster", "ClusterClass", "ClusterResourceSet", "GlobalIdentity"].contains(&kind);
    Kind {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced: !kind.starts_with("Global"),
        status: true,
        moves: kind == "Host",
        moves_hierarchy: root,
        hands_over: false,
    }
}

/// Makes a node from `Kind namespace/name`, owners in the same notation, and a spec.
fn node(text: &str, owners: &[&str], spec: Value) -> Node {
    let (name_of_kind, rest) = text.split_once(' ').unwrap();
    let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
    let group = match name_of_kind {
        "Secret" | "ConfigMap" => "",
        "ClusterResourceSet" | "ClusterResourceSetBinding" => names::ADDONS_GROUP,
        "Cluster" | "ClusterClass" => names::CLUSTER_GROUP,
        kind if kind.starts_with("Machine") => names::CLUSTER_GROUP,
        _ => "infra",
    };
    let key = Key {
        group: group.into(),
        kind: name_of_kind.into(),
        namespace: namespace.into(),
        name: name.into(),
    };
    let owners: Vec<Value> =
        owners.iter().map(|owner| json!({"uid": owner, "kind": "K", "name": owner})).collect();
    let mut object = json!({"metadata": {"ownerReferences": owners}, "spec": spec});
    if let Some(labels) = spec.get("labels") {
        object["metadata"]["labels"] = labels.clone();
    }
    let facts = Facts::of(&kind(group, name_of_kind), &key, &object);
    Node { key, uid: text.into(), facts }
}

fn build(nodes: Vec<Node>, namespace: &str) -> Graph {
    let scope = Scope { namespace: namespace.into(), provider_namespaces: ["capx-system".to_owned()].into() };
    Graph::build(nodes, &scope)
}

fn groups(graph: &Graph) -> Vec<Vec<String>> {
    let name = |index: &usize| graph.nodes[*index].key.to_string();
    graph.groups().iter().map(|group| group.iter().map(name).collect()).collect()
}

#[test]
fn owners_come_first() {
    let graph = build(
        vec![
            node("Secret n/c-ca", &[], json!({})),
            node("Machine n/m", &["Cluster n/c"], json!({})),
            node("Config n/b", &["Machine n/m", "Cluster n/c"], json!({})),
            node("Cluster n/c", &[], json!({"topology": {"classRef": {"name": "k"}}})),
            node("ClusterClass n/k", &[], json!({})),
            node("Template n/t", &["ClusterClass n/k"], json!({})),
            node("Secret n/stranger", &[], json!({})),
        ],
        "",
    );
    assert_eq!(
        groups(&graph),
        [
            vec!["ClusterClass n/k"],
            vec!["Cluster n/c", "Template n/t"],
            vec!["Secret n/c-ca", "Machine n/m"],
            vec!["Config n/b"]
        ]
    );
    assert_eq!(graph.fates[6], Fate::Stays(UNOWNED));
}

#[test]
fn cycles_and_missing_owners_do_not_stop_it() {
    let graph = build(
        vec![
            node("Cluster n/c", &[], json!({})),
            node("X n/a", &["X n/b", "Cluster n/c"], json!({})),
            node("X n/b", &["X n/a", "nobody"], json!({})),
        ],
        "",
    );
    assert_eq!(groups(&graph), [vec!["Cluster n/c"], vec!["X n/a", "X n/b"]]);
}

#[test]
fn beyond_clusterctls_rules() {
    let graph = build(
        vec![
            node("Cluster n/c", &[], json!({})),
            node("Secret n/token", &[], json!({"labels": {"cluster.x-k8s.io/cluster-name": "c"}})),
            node(
                "InfraCluster n/c",
                &["Cluster n/c"],
                json!({"identityRef": {"kind": "GlobalThing", "apiGroup": "infra", "name": "g"}}),
            ),
            node("GlobalThing g", &[], json!({"secretName": "credentials"})),
            node("Secret capx-system/credentials", &[], json!({})),
            node("Secret other/credentials", &[], json!({})),
        ],
        "",
    );
    let fates: Vec<bool> = graph.fates.iter().map(|fate| matches!(fate, Fate::Beyond(_))).collect();
    assert_eq!(fates, [false, true, false, true, true, false]);
    assert_eq!(graph.kept[3], Some("it is cluster-scoped"));
}

/// Objects without an owner that moves follow `spec.clusterName`, together with the objects that they name and own; drain rules of a
/// namespace move with its Clusters.
#[test]
fn what_names_its_cluster_goes_with_it() {
    let of = |cluster: &str| json!({"clusterName": cluster});
    let pool = json!({"clusterName": "c", "template": {"spec": {
        "infrastructureRef": {"apiGroup": "infra", "kind": "InfraPool", "name": "p"}}}});
    let rows = [
        (node("Cluster n/c", &[], json!({})), true),
        (node("MachineHealthCheck n/h", &[], of("c")), true),
        (node("MachineHealthCheck n/applied", &["Kustomization n/k"], of("c")), true),
        (node("MachinePool n/p", &["nobody"], pool), true),
        (node("InfraPool n/p", &[], json!({})), true),
        (node("Machine n/p-1", &["MachinePool n/p"], of("c")), true),
        (node("AddressClaim n/a", &["nobody"], of("c")), true),
        (node("MachineDrainRule n/r", &[], json!({})), true),
        (node("MachineDrainRule other/r", &[], json!({})), false),
        (node("MachineHealthCheck n/other", &[], of("d")), false),
        (node("MachineHealthCheck other/h", &[], of("c")), false),
        (node("Kustomization n/k", &[], json!({})), false),
    ];
    let (nodes, expected): (Vec<Node>, Vec<bool>) = rows.into_iter().unzip();
    let graph = build(nodes, "");
    for (index, moves) in expected.into_iter().enumerate() {
        assert_eq!(graph.moves(index), moves, "{}: {:?}", graph.nodes[index].key, graph.fates[index]);
    }
}

#[test]
fn what_others_use_is_kept_at_the_source() {
    let graph = build(
        vec![
            node(
                "Cluster n/c",
                &[],
                json!({"topology": {"classRef": {"name": "k", "namespace": "classes"}}}),
            ),
            node(
                "Cluster other/d",
                &[],
                json!({"topology": {"classRef": {"name": "k", "namespace": "classes"}}}),
            ),
            node("ClusterClass classes/k", &[], json!({})),
            node("Template classes/t", &["ClusterClass classes/k"], json!({})),
            node("GlobalIdentity g", &[], json!({})),
            node("Secret capx-system/s", &["GlobalIdentity g"], json!({})),
        ],
        "n",
    );
    let moves: Vec<bool> = (0..6).map(|index| graph.moves(index)).collect();
    assert_eq!(moves, [true, false, true, true, true, true]);
    let kept: Vec<bool> = graph.kept.iter().map(Option::is_some).collect();
    assert_eq!(kept, [false, false, true, true, true, true]);
    assert!(graph.shared_globally[5]);
}
