//! Tests of the kinds of Metal3's provider for Cluster API, and of its IPPool.

use schemas::admission::{Facts, admit};
use serde_json::{Value, json};

use super::{Case, creations, merge, updates};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";
const IPAM: &str = "ipam.metal3.io";

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({ "kind": kind, "metadata": { "name": name, "namespace": "site" }, "spec": spec })
}

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

/// The same spec in a template.
fn template(inner: Value) -> Value {
    json!({ "spec": { "template": { "spec": inner } } })
}

fn defaulted(group: &str, kind: &str, mut object: Value) -> Value {
    admit(group, kind, &mut object, None, false, &Facts::of_empty_server()).unwrap();
    object["spec"].take()
}

#[test]
fn clusters() {
    let endpoint = |endpoint: Value| json!({ "controlPlaneEndpoint": endpoint });
    let good = object("Metal3Cluster", "c", endpoint(json!({ "host": "192.0.2.1" })));
    let no_host: &[&str] = &["spec.controlPlaneEndpoint.host: Required"];
    let cases = &[
        ("good", json!({}), &[][..]),
        ("no endpoint", spec(endpoint(Value::Null)), no_host),
        ("empty host", spec(endpoint(json!({ "host": "" }))), no_host),
        ("port", spec(endpoint(json!({ "port": 8443 }))), &[]),
    ];
    creations(GROUP, "Metal3Cluster", &good, cases);
    updates(GROUP, "Metal3Cluster", &good, cases);
    let full = json!({
        "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 6443 }, "cloudProviderEnabled": false,
    });
    assert_eq!(defaulted(GROUP, "Metal3Cluster", good.clone()), full);
    let mut zero = good;
    merge(&mut zero, &spec(endpoint(json!({ "port": 0 }))));
    assert_eq!(defaulted(GROUP, "Metal3Cluster", zero), full);
    let kept = json!({
        "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 8443 }, "cloudProviderEnabled": true,
    });
    assert_eq!(defaulted(GROUP, "Metal3Cluster", object("Metal3Cluster", "c", kept.clone())), kept);

    let mut good = template(endpoint(json!({ "host": "192.0.2.1", "port": 6443 })));
    let none = endpoint(Value::Null);
    let path = "spec.template.spec.controlPlaneEndpoint";
    let (host, port) = (format!("{path}.host: Required"), format!("{path}.port: Required"));
    creations(
        GROUP,
        "Metal3ClusterTemplate",
        &good,
        &[
            ("good", json!({}), &[]),
            ("no endpoint", template(none), &[&host, &port]),
            ("no port", template(endpoint(json!({ "port": null }))), &[&port]),
        ],
    );
    let before = good.clone();
    admit(GROUP, "Metal3ClusterTemplate", &mut good, None, false, &Facts::of_empty_server()).unwrap();
    assert_eq!(good, before, "a template has no defaults");
}

#[test]
fn images() {
    let image = json!({ "url": "https://images.example.org/a.qcow2", "checksum": "0123" });
    let of = |image: Value| json!({ "image": image });
    let cases = [
        ("good", json!({}), None),
        ("no image", of(Value::Null), Some("url: Required")),
        ("no URL", of(json!({ "url": "" })), Some("url: Required")),
        ("a bad URL", of(json!({ "url": "a.qcow2" })), Some("url: Invalid")),
        ("no checksum", of(json!({ "checksum": "" })), Some("checksum: Required")),
        ("booted only", of(json!({ "checksum": "", "diskFormat": "live-iso" })), None),
        ("an OCI artifact", of(json!({ "checksum": "", "url": "oci://registry.example.org/a:1" })), None),
        ("and its checksum", of(json!({ "url": "oci://registry.example.org/a:1" })), None),
        ("a file of checksums", of(json!({ "checksum": "https://images.example.org/SUMS" })), None),
        (
            "a bad file",
            of(json!({ "checksum": "https://images.example.org/%zz" })),
            Some("checksum: Invalid"),
        ),
        ("another deployment", json!({ "image": null, "customDeploy": { "method": "install" } }), None),
        ("no method", json!({ "image": null, "customDeploy": { "method": "" } }), Some("url: Required")),
    ];
    let machine = object("Metal3Machine", "m", of(image.clone()));
    let templates = template(of(image));
    for (name, change, problem) in cases {
        let of_machine = problem.map(|problem| format!("spec.image.{problem}"));
        let expected: Vec<&str> = of_machine.iter().map(String::as_str).collect();
        creations(GROUP, "Metal3Machine", &machine, &[(name, spec(change.clone()), &expected)]);
        updates(GROUP, "Metal3Machine", &machine, &[(name, spec(change.clone()), &expected)]);
        let of_template = problem.map(|problem| format!("spec.template.spec.image.{problem}"));
        let expected: Vec<&str> = of_template.iter().map(String::as_str).collect();
        creations(GROUP, "Metal3MachineTemplate", &templates, &[(name, template(change), &expected)]);
    }
    let secret =
        |field: &str, namespace: &str| spec(json!({ field: { "name": "a", "namespace": namespace } }));
    creations(
        GROUP,
        "Metal3Machine",
        &machine,
        &[
            ("own Secret", secret("userData", "site"), &[]),
            ("no namespace", secret("networkData", ""), &[]),
            ("a stranger's user data", secret("userData", "other"), &["spec.userData.namespace: Invalid"]),
            ("a stranger's metadata", secret("metaData", "other"), &["spec.metaData.namespace: Invalid"]),
            (
                "a stranger's network",
                secret("networkData", "other"),
                &["spec.networkData.namespace: Invalid"],
            ),
        ],
    );
}

#[test]
fn data_templates() {
    let network = |version: &str, network: Value| {
        spec(json!({ "networkData": { "networks": { version: [{ "id": "a", "link": "b" }, network] } } }))
    };
    let good = object("Metal3DataTemplate", "t", json!({ "clusterName": "c" }));
    let interfaces = |sources: Value| spec(json!({ "metaData": { "fromHostInterfaces": sources } }));
    let field = "spec.networkData.networks";
    let (v4, v6) = (format!("{field}.ipv4[0].fromPoolRef.name"), format!("{field}.ipv6[0].fromPoolRef.name"));
    let (v4, v6) = (format!("{v4}: Required"), format!("{v6}: Required"));
    let second = format!("{field}.ipv4[1].fromPoolRef.name: Required");
    creations(
        GROUP,
        "Metal3DataTemplate",
        &good,
        &[
            ("good", json!({}), &[]),
            (
                "addresses of interfaces",
                interfaces(json!([{ "key": "a", "interface": "eth0" }, { "key": "b", "fromBootMAC": true }])),
                &[],
            ),
            (
                "addresses of nothing",
                interfaces(json!([{ "key": "a" }])),
                &["spec.metaData.fromHostInterfaces[0].interface: Required"],
            ),
            (
                "addresses of two",
                interfaces(json!([{ "key": "a", "interface": "eth0", "fromBootMAC": true }])),
                &["spec.metaData.fromHostInterfaces[0].interface: Invalid"],
            ),
            ("by reference", network("ipv4", json!({ "fromPoolRef": { "name": "p" } })), &[&v4]),
            ("by name", network("ipv6", json!({ "ipAddressFromIPPool": "p" })), &[&v6]),
            (
                "by annotation",
                network("ipv4", json!({ "fromPoolAnnotation": { "object": "machine", "annotation": "p" } })),
                &[&v4],
            ),
            ("no pool", network("ipv4", json!({ "fromPoolRef": { "name": "" } })), &[&v4, &second]),
        ],
    );
    let old = {
        let mut old = good.clone();
        merge(&mut old, &interfaces(json!([{ "key": "a" }])));
        old
    };
    updates(
        GROUP,
        "Metal3DataTemplate",
        &old,
        &[
            ("what was accepted earlier", json!({ "metadata": { "labels": { "a": "b" } } }), &[]),
            ("cluster", spec(json!({ "clusterName": "d" })), &[]),
            ("metadata", spec(json!({ "metaData": null })), &["spec.metaData: Forbidden"]),
            ("network data", spec(json!({ "networkData": {} })), &["spec.networkData: Forbidden"]),
        ],
    );
}

#[test]
fn data_and_claims() {
    let claim = object("Metal3DataClaim", "m", json!({ "template": { "name": "t" } }));
    let of = |template: Value| spec(json!({ "template": template }));
    creations(
        GROUP,
        "Metal3DataClaim",
        &claim,
        &[
            ("good", json!({}), &[]),
            ("of nothing", of(Value::Null), &["spec.template.name: Required"]),
            ("own namespace", of(json!({ "namespace": "site" })), &[]),
            ("a stranger's", of(json!({ "namespace": "other" })), &["spec.template.namespace: Invalid"]),
        ],
    );
    updates(
        GROUP,
        "Metal3DataClaim",
        &claim,
        &[
            ("status", json!({ "status": { "renderedData": { "name": "t-0" } } }), &[]),
            ("another template", of(json!({ "name": "u" })), &["spec.template: Forbidden"]),
        ],
    );
    let data = object(
        "Metal3Data",
        "t-0",
        json!({ "index": 0, "template": { "name": "t" }, "claim": { "name": "m" } }),
    );
    creations(
        GROUP,
        "Metal3Data",
        &data,
        &[
            ("good", json!({}), &[]),
            ("another index", spec(json!({ "index": 1 })), &["metadata.name: Invalid"]),
            ("no index", spec(json!({ "index": null })), &[]),
            (
                "a negative index",
                spec(json!({ "index": -1 })),
                &["spec.index: Invalid", "metadata.name: Invalid"],
            ),
        ],
    );
    updates(
        GROUP,
        "Metal3Data",
        &data,
        &[
            ("Secret", spec(json!({ "metaData": { "name": "s" } })), &[]),
            ("index", spec(json!({ "index": 1 })), &["spec.index: Forbidden"]),
            ("template", of(json!({ "namespace": "site" })), &["spec.template: Forbidden"]),
            ("claim", spec(json!({ "claim": null })), &["spec.claim: Forbidden"]),
        ],
    );
}

#[test]
fn remediations() {
    let of = |strategy: Value| json!({ "strategy": strategy });
    let full = of(json!({ "type": "Reboot", "timeoutSeconds": 600, "retryLimit": 1 }));
    for empty in [json!({}), of(json!({ "type": "", "retryLimit": -1 }))] {
        let found = defaulted(GROUP, "Metal3RemediationTemplate", template(empty));
        assert_eq!(found["template"]["spec"], full);
    }
    let good = object("Metal3Remediation", "m", full);
    assert_eq!(defaulted(GROUP, "Metal3Remediation", good.clone()), good["spec"]);
    let strategy = |strategy: Value| spec(of(strategy));
    creations(
        GROUP,
        "Metal3Remediation",
        &good,
        &[
            ("good", json!({}), &[]),
            ("little", strategy(json!({ "timeoutSeconds": null, "retryLimit": null })), &[]),
            ("no strategy", spec(of(Value::Null)), &["spec.strategy.type: Required"]),
            (
                "another strategy",
                strategy(json!({ "type": "Replace" })),
                &["spec.strategy.type: NotSupported"],
            ),
            ("short", strategy(json!({ "timeoutSeconds": 99 })), &["spec.strategy.timeoutSeconds: Invalid"]),
            ("never", strategy(json!({ "retryLimit": 0 })), &["spec.strategy.retryLimit: Invalid"]),
        ],
    );
    let short = template(of(json!({ "timeoutSeconds": 99 })));
    let expected: &[&str] = &["spec.template.spec.strategy.timeoutSeconds: Invalid"];
    creations(GROUP, "Metal3RemediationTemplate", &template(json!({})), &[("short", short, expected)]);
}

#[test]
fn pools() {
    let good = object(
        "IPPool",
        "p",
        json!({
            "namePrefix": "p", "gateway": "192.0.2.1", "dnsServers": ["2001:db8::53"],
            "pools": [
                { "start": "192.0.2.10", "end": "192.0.2.19" },
                { "start": "192.0.2.100", "subnet": "192.0.2.77/25" },
                { "subnet": "2001:db8::/64" },
            ],
        }),
    );
    let reserved = |address: &str| spec(json!({ "preAllocations": { "m": address } }));
    let range = |range: Value| spec(json!({ "pools": [range] }));
    let outside: &[&str] = &["spec.preAllocations[m]: Invalid"];
    creations(
        IPAM,
        "IPPool",
        &good,
        &[
            ("good", json!({}), &[]),
            ("no ranges", spec(json!({ "pools": null })), &[]),
            ("first", reserved("192.0.2.10"), &[]),
            ("last", reserved("192.0.2.19"), &[]),
            ("after the first range", reserved("192.0.2.20"), outside),
            ("in the subnet", reserved("192.0.2.127"), &[]),
            ("after the subnet", reserved("192.0.2.128"), outside),
            ("IPv6", reserved("2001:db8::1"), &[]),
            ("another network", reserved("2001:db8:0:1::1"), outside),
            ("no address", reserved("192.0.2"), outside),
            ("gateway", spec(json!({ "gateway": "router" })), &["spec.gateway: Invalid"]),
            ("DNS", spec(json!({ "dnsServers": ["192.0.2.1", "dns"] })), &["spec.dnsServers[1]: Invalid"]),
            ("start", range(json!({ "start": "a" })), &["spec.pools[0].start: Invalid"]),
            ("subnet", range(json!({ "subnet": "192.0.2.0" })), &["spec.pools[0].subnet: Invalid"]),
            ("prefix", range(json!({ "subnet": "192.0.2.0/33" })), &["spec.pools[0].subnet: Invalid"]),
            ("every address", range(json!({ "subnet": "0.0.0.0/0" })), &[]),
        ],
    );
    let mut used = good.clone();
    used["status"] = json!({ "indexes": { "m": "192.0.2.11" } });
    updates(
        IPAM,
        "IPPool",
        &used,
        &[
            ("smaller", range(json!({ "start": "192.0.2.11", "end": "192.0.2.11" })), &[]),
            ("without a used address", range(json!({ "start": "192.0.2.12" })), &["spec.pools: Invalid"]),
            ("another prefix", spec(json!({ "namePrefix": "q" })), &["spec.namePrefix: Forbidden"]),
        ],
    );
}

#[test]
fn addresses_belong_to_one_claim_and_pool() {
    let good = object(
        "IPAddress",
        "p-192-0-2-1",
        json!({ "address": "192.0.2.1", "pool": { "name": "p", "namespace": "site" }, "claim": { "name": "m" } }),
    );
    let pool = |pool: Value| spec(json!({ "pool": pool }));
    let claim = |claim: Value| spec(json!({ "claim": claim }));
    creations(
        IPAM,
        "IPAddress",
        &good,
        &[
            ("good", json!({}), &[]),
            ("no pool", pool(json!({ "name": null })), &["spec.pool.name: Required"]),
            ("no claim", claim(json!({ "name": "" })), &["spec.claim.name: Required"]),
            ("empty", spec(json!({ "address": "" })), &["spec.address: Required"]),
            ("no address", spec(json!({ "address": "192.0.2" })), &["spec.address: Invalid"]),
        ],
    );
    updates(
        IPAM,
        "IPAddress",
        &good,
        &[
            ("gateway", spec(json!({ "gateway": "192.0.2.254" })), &[]),
            ("moved", pool(json!({ "uid": "u", "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "" })), &[]),
            ("address", spec(json!({ "address": "192.0.2.2" })), &["spec.address: Forbidden"]),
            ("pool", pool(json!({ "name": "q" })), &["spec.pool: Forbidden"]),
            ("pool's namespace", pool(json!({ "namespace": "other" })), &["spec.pool: Forbidden"]),
            ("pool's kind", pool(json!({ "kind": "Other" })), &["spec.pool: Forbidden"]),
            ("claim", claim(json!({ "name": "n" })), &["spec.claim: Forbidden"]),
            ("claim's namespace", claim(json!({ "namespace": "site" })), &["spec.claim: Forbidden"]),
        ],
    );
}

#[test]
fn claims_of_addresses_keep_their_pool() {
    let good = object("IPClaim", "m", json!({ "pool": { "name": "p" } }));
    let pool = |pool: Value| spec(json!({ "pool": pool }));
    let requested = |address: &str| json!({ "metadata": { "annotations": { "ipAddress": address } } });
    let required: &[Case<'_>] = &[
        ("good", json!({}), &[]),
        ("no pool", spec(json!({ "pool": null })), &["spec.pool.name: Required"]),
        ("no name", pool(json!({ "name": "" })), &["spec.pool.name: Required"]),
        ("requested", requested("2001:db8::7"), &[]),
        ("requested badly", requested("seven"), &["metadata.annotations[ipAddress]: Invalid"]),
    ];
    creations(IPAM, "IPClaim", &good, required);
    updates(
        IPAM,
        "IPClaim",
        &good,
        &[
            ("status", json!({ "status": { "errorMessage": "none left" } }), &[]),
            ("version", pool(json!({ "apiVersion": "ipam.metal3.io/v1alpha1" })), &[]),
            ("name", pool(json!({ "name": "q" })), &["spec.pool: Forbidden"]),
            ("namespace", pool(json!({ "namespace": "site" })), &["spec.pool: Forbidden"]),
            ("kind", pool(json!({ "kind": "IPPool" })), &["spec.pool: Forbidden"]),
            ("requested badly", requested("seven"), &["metadata.annotations[ipAddress]: Invalid"]),
        ],
    );
    let older = {
        let mut older = good.clone();
        merge(&mut older, &requested("seven"));
        older
    };
    let removed: &[Case<'_>] = &[("deleted", json!({ "metadata": { "finalizers": [] } }), &[])];
    updates(IPAM, "IPClaim", &older, removed);
}

#[test]
fn ranges_without_addresses_cause_a_warning() {
    let warnings = |range: Value| {
        let mut pool = object("IPPool", "p", json!({ "namePrefix": "p", "pools": [range] }));
        admit(IPAM, "IPPool", &mut pool, None, false, &Facts::of_empty_server()).unwrap()
    };
    assert_eq!(warnings(json!({ "start": "192.0.2.1", "end": "192.0.2.1" })), Vec::<String>::new());
    assert_eq!(
        warnings(json!({ "end": "192.0.2.9" })),
        ["spec.pools[0]: no address is allocated from it: set start or subnet"]
    );
    assert_eq!(
        warnings(json!({ "start": "192.0.2.9", "end": "192.0.2.8" })),
        ["spec.pools[0]: no address is allocated from it, since end (192.0.2.8) is before start (192.0.2.9)"]
    );
}

#[test]
fn errors_say_what_to_do() {
    let message = |group: &str, kind: &str, mut object: Value| {
        let errors = admit(group, kind, &mut object, None, false, &Facts::of_empty_server()).unwrap_err();
        errors.iter().map(|error| format!("{}: {}", error.field, error.body())).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        message(GROUP, "Metal3Cluster", object("Metal3Cluster", "c", json!({}))),
        "spec.controlPlaneEndpoint.host: Required value: set it to the address of the API server, for example a \
         virtual IP address: no controller creates it"
    );
    assert_eq!(
        message(GROUP, "Metal3Machine", object("Metal3Machine", "m", json!({}))),
        "spec.image.url: Required value: set it to the URL of a disk image, or set customDeploy.method instead"
    );
    let data = object("Metal3Data", "x", json!({ "index": 3, "template": { "name": "t" } }));
    assert_eq!(
        message(GROUP, "Metal3Data", data),
        "metadata.name: Invalid value: \"x\": must be t-3: the template's name and the index"
    );
}
