//! Tests of `class render` and `class test`.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;
use std::process::Command;

/// A class with a variable, a patch that uses it, and one MachineDeployment class.
const CLASS: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: base}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: infra}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: plane}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: machines}}
  workers:
    machineDeployments:
    - class: worker
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: machines}}
  variables:
  - name: greeting
    required: false
    schema: {openAPIV3Schema: {type: string, default: hello}}
  patches:
  - name: greet
    definitions:
    - selector:
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
        kind: KubeadmConfigTemplate
        matchResources: {machineDeploymentClass: {names: [worker]}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/postKubeadmCommands, valueFrom: {template: "- echo {{ .greeting | upper }}"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: infra}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: plane}
spec: {template: {spec: {kubeadmConfigSpec: {format: cloud-config}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: machines}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: boot}
spec: {template: {spec: {format: cloud-config}}}
"#;

const CLUSTER: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: first}
spec:
  topology:
    classRef: {name: base}
    version: v1.35.0
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: md-0, replicas: 2}]}
"#;

/// Runs a command in the folder. Returns the exit code and both outputs.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .arg("class")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A folder with the class, and a case with the Cluster.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("class.yaml"), CLASS).unwrap();
    std::fs::create_dir(folder.path().join("small")).unwrap();
    std::fs::write(folder.path().join("small/cluster.yaml"), CLUSTER).unwrap();
    folder
}

#[test]
fn a_cluster_is_rendered_from_files() {
    let folder = folder();
    let files = ["render", "-f", "class.yaml", "-f", "small/cluster.yaml"];
    let (code, output, errors) = run(folder.path(), &files);
    assert_eq!(code, Some(0), "{errors}");
    assert!(output.contains("- echo HELLO") && output.contains("name: first-md-0-xxxxx"), "{output}");
    let kinds: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    let expected = [
        "DevCluster",
        "DevMachineTemplate",
        "KubeadmControlPlane",
        "Cluster",
        "KubeadmConfigTemplate",
        "DevMachineTemplate",
        "MachineDeployment",
    ];
    assert_eq!(kinds, expected);
    let more = ["--variable", "greeting=good morning", "--kubernetes-version", "v1.36.0", "-o", "json"];
    let (code, output, errors) = run(folder.path(), &[&files[..], &more].concat());
    assert_eq!(code, Some(0), "{errors}");
    assert!(output.contains("echo GOOD MORNING") && output.contains("\"version\": \"v1.36.0\""), "{output}");
    for (more, error) in [
        (&["--variable", "other=1"][..], "spec.topology.variables[other]"),
        (&["--variable", "greeting"], "write NAME=VALUE"),
        (&["--cluster", "second"], "the manifests have no Cluster \"second\""),
    ] {
        let (code, _, errors) = run(folder.path(), &[&files[..], more].concat());
        assert!(code == Some(1) && errors.contains(error), "{errors}");
    }
    std::fs::write(
        folder.path().join("plain.yaml"),
        CLUSTER.split("  topology:").next().unwrap().to_owned() + "  paused: true\n",
    )
    .unwrap();
    let (code, _, errors) =
        run(folder.path(), &["render", "-f", "plain.yaml", "--kubernetes-version", "v1.36.0"]);
    assert!(code == Some(1) && errors.contains("the Cluster has no spec.topology"), "{errors}");
    let (code, _, errors) = run(folder.path(), &["render", "-f", "small/cluster.yaml"]);
    let error = "spec.topology.classRef of the Cluster refers to ClusterClass default/base, which is not in the manifests";
    assert!(code == Some(1) && errors.contains(error), "{errors}");
}

#[test]
fn cases_are_compared_with_what_is_expected() {
    let folder = folder();
    let (test, update) =
        (["test", "-f", "class.yaml", "small"], ["test", "-f", "class.yaml", "small", "--update"]);
    let (code, _, errors) = run(folder.path(), &test);
    assert!(code == Some(1) && errors.contains("neither expected.yaml nor error.txt"), "{errors}");
    assert_eq!(run(folder.path(), &update), (Some(0), "expected.yaml small\n".to_owned(), String::new()));
    assert_eq!(run(folder.path(), &test), (Some(0), "ok     small\n".to_owned(), String::new()));
    let changed = CLASS.replace("- echo {{", "- echo now {{");
    std::fs::write(folder.path().join("class.yaml"), changed).unwrap();
    let (code, output, errors) = run(folder.path(), &test);
    assert!(code == Some(1) && errors.contains("1 of 1 cases failed"), "{errors}");
    assert!(output.contains("FAILED small\n  KubeadmConfigTemplate first-md-0-xxxxx\n"), "{output}");
    assert!(output.contains("\n-         - echo HELLO\n+         - echo now HELLO\n"), "{output}");
    // A class that must refuse the Cluster.
    std::fs::write(folder.path().join("class.yaml"), CLASS.replace("upper", "fail")).unwrap();
    assert_eq!(run(folder.path(), &update), (Some(0), "error.txt small\n".to_owned(), String::new()));
    assert!(!folder.path().join("small/expected.yaml").exists());
    assert_eq!(run(folder.path(), &test).0, Some(0));
    std::fs::write(folder.path().join("class.yaml"), CLASS).unwrap();
    let (code, output, _) = run(folder.path(), &test);
    assert!(code == Some(1) && output.contains("the class accepts the Cluster"), "{output}");
}

#[test]
fn what_a_server_refuses_is_refused_with_its_line() {
    let folder = folder();
    let files = ["render", "-f", "class.yaml", "-f", "small/cluster.yaml"];
    for (wrong, right, expected) in [
        (
            "jsonPatch:",
            "jsonPatches:",
            "class.yaml:26: ClusterClass base: unknown fields: spec.patches[0].definitions[0].jsonPatch",
        ),
        (
            "required: perhaps",
            "required: false",
            "class.yaml:17: ClusterClass base: spec.variables[0].required: ",
        ),
        ("{format: text}", "{format: cloud-config}", "class.yaml:37: KubeadmControlPlaneTemplate plane: "),
        (
            "cluster.x-k8s.io/v1alpha9\nkind: ClusterClass",
            "cluster.x-k8s.io/v1beta2\nkind: ClusterClass",
            "class.yaml:2: ClusterClass base: the version \"v1alpha9\" is not served; it can be ",
        ),
        (
            "names: [other]",
            "names: [worker]",
            "ClusterClass default/base: spec.patches[0].definitions[0].selector",
        ),
    ] {
        assert!(CLASS.contains(right), "{right}");
        std::fs::write(folder.path().join("class.yaml"), CLASS.replace(right, wrong)).unwrap();
        let (code, _, errors) = run(folder.path(), &files);
        assert!(code == Some(1) && errors.contains(expected), "{errors}");
    }
    std::fs::write(folder.path().join("class.yaml"), CLASS).unwrap();
    std::fs::write(folder.path().join("small/cluster.yaml"), CLUSTER.replace("replicas: 2", "replica: 2"))
        .unwrap();
    std::fs::write(
        folder.path().join("small/error.txt"),
        "unknown fields: spec.topology.workers.machineDeployments[0].replica",
    )
    .unwrap();
    assert_eq!(run(folder.path(), &["test", "-f", "class.yaml", "small"]).0, Some(0));
}

#[test]
fn manifests_of_the_older_version_are_converted() {
    let folder = folder();
    let old = |text: &str| {
        text.replace("x-k8s.io/v1beta2\nkind: Cluster", "x-k8s.io/v1beta1\nkind: Cluster")
            .replace("templateRef:", "ref:")
            .replace("classRef: {name: base}", "class: base")
            .replace(
                "bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}\n      infrastructure:",
                "template:\n        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: boot}}\n        infrastructure:",
            )
    };
    let files = ["render", "-f", "class.yaml", "-f", "small/cluster.yaml"];
    let new = run(folder.path(), &files);
    std::fs::write(folder.path().join("class.yaml"), old(CLASS)).unwrap();
    std::fs::write(folder.path().join("small/cluster.yaml"), old(CLUSTER)).unwrap();
    assert_eq!(run(folder.path(), &files), new);
}

/// The class with all its templates named and written in v1beta1, and a patch whose path exists in that version only.
fn older_class() -> String {
    let patch = "
  - name: audit
    definitions:
    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/audit-log-path, value: /var/log/audit.log}
---
apiVersion: infrastructure";
    CLASS
        .replacen("\n---\napiVersion: infrastructure", patch, 1)
        .replace(
            "{kubeadmConfigSpec: {format: cloud-config}}",
            "{kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: {v: \"4\"}}}}}",
        )
        .replace("v1beta2", "v1beta1")
        .replace("templateRef:", "ref:")
        .replace("      bootstrap: {ref:", "      template:\n        bootstrap: {ref:")
        .replace("      infrastructure: {ref:", "        infrastructure: {ref:")
}

#[test]
fn templates_are_patched_in_the_version_that_the_class_names() {
    let folder = folder();
    std::fs::write(folder.path().join("class.yaml"), older_class()).unwrap();
    let files = ["render", "-f", "class.yaml", "-f", "small/cluster.yaml"];
    let (code, output, errors) = run(folder.path(), &files);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{errors}");
    for part in [
        "- echo HELLO",
        "- name: audit-log-path\n          value: /var/log/audit.log",
        "- name: v\n          value: \"4\"",
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta2",
        "  machineTemplate:\n    metadata:",
        "    spec:\n      infrastructureRef:\n        apiGroup: infrastructure.cluster.x-k8s.io",
    ] {
        assert!(output.contains(part), "{part}\n{output}");
    }
    assert!(!output.contains("v1beta1"), "{output}");
    let test = ["test", "-f", "class.yaml", "small"];
    run(folder.path(), &[&test[..], &["--update"]].concat());
    assert_eq!(run(folder.path(), &test), (Some(0), "ok     small\n".to_owned(), String::new()));
}

#[test]
fn patches_that_change_nothing_are_named() {
    let folder = folder();
    let workers = "    workers: {machineDeployments: [{class: worker, name: md-0, replicas: 2}]}\n";
    let without = CLUSTER.replace(workers, "");
    std::fs::write(folder.path().join("small/cluster.yaml"), without).unwrap();
    let warning = "definitions[0] of patch \"greet\" changes nothing: its selector (KubeadmConfigTemplate of bootstrap.cluster.x-k8s.io/v1beta2, ";
    let (code, _, errors) = run(folder.path(), &["render", "-f", "class.yaml", "-f", "small/cluster.yaml"]);
    assert!(code == Some(0) && errors.starts_with(&format!("Warning: {warning}")), "{errors}");
    let (code, _, errors) = run(folder.path(), &["test", "-f", "class.yaml", "small", "--update"]);
    assert!(code == Some(0) && errors.starts_with(&format!("Warning: small: {warning}")), "{errors}");
}
