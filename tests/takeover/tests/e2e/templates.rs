//! Tests of `takeover::e2e::templates`.

use takeover::e2e::templates::in_memory;

#[test]
fn only_the_backend_is_another_one() {
    let template = "\
spec:
  backend:
    docker:
      failureDomains:
        - name: fd1
  replicas: ${COUNT}
---
spec:
  template:
    spec:
      backend:
        docker: {}
      providerID: docker
";
    let wanted = "\
spec:
  backend:
    inMemory: {}
  replicas: ${COUNT}
---
spec:
  template:
    spec:
      backend:
        inMemory: {}
      providerID: docker
";
    assert_eq!(in_memory(template), wanted);
}

#[test]
fn patches_of_the_backend_are_left_out() {
    let class = "\
spec:
  patches:
  - name: balancer
    definitions:
    - selector:
        kind: DevClusterTemplate
      jsonPatches:
      - op: add
        path: \"/spec/template/spec/backend/docker/loadBalancer\"
  - name: both
    enabledIf: '{{ .on }}'
    definitions:
      - selector:
          kind: DevMachineTemplate
        jsonPatches:
          - op: add
            path: /spec/template/spec/backend/docker/customImage
      - selector:
          kind: KubeadmControlPlaneTemplate
        jsonPatches:
          - op: add
            path: /spec/template/spec/kubeadmConfigSpec
  - definitions:
    - jsonPatches:
      - op: add
        path: /spec/template/spec/backend/docker/preLoadImages
      selector:
        kind: DevMachineTemplate
    name: images
  workers: {}
";
    let wanted = "\
spec:
  patches:
  - name: both
    enabledIf: '{{ .on }}'
    definitions:
      - selector:
          kind: KubeadmControlPlaneTemplate
        jsonPatches:
          - op: add
            path: /spec/template/spec/kubeadmConfigSpec
  workers: {}
";
    assert_eq!(in_memory(class), wanted);
}

#[test]
fn a_dev_cluster_without_content_has_a_backend() {
    let template = "kind: DevCluster\nmetadata:\n  name: a\n---\nkind: Cluster\n";
    let wanted =
        "kind: DevCluster\nmetadata:\n  name: a\nspec:\n  backend:\n    inMemory: {}\n---\nkind: Cluster\n";
    assert_eq!(in_memory(template), wanted);
}

#[test]
fn machines_wait_for_the_signal_of_their_script() {
    let template = "kind: KubeadmControlPlane\nspec:\n  script: curl $SERVER/configmaps/mhc-test\n---\n\
        kind: DevMachineTemplate\nspec:\n  template:\n    spec:\n      backend:\n        docker: {}\n";
    let wanted = "kind: KubeadmControlPlane\nspec:\n  script: curl $SERVER/configmaps/mhc-test\n---\n\
        kind: DevMachineTemplate\nspec:\n  template:\n    metadata:\n      annotations:\n        \
        simulated.firstlight.dev/bootstrap-waits-for: mhc-test\n    spec:\n      backend:\n        inMemory: {}\n";
    assert_eq!(in_memory(template), wanted);
    assert!(!in_memory(&template.replace("mhc-test", "other")).contains("bootstrap-waits-for"));
}
