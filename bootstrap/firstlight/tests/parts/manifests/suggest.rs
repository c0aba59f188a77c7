//! Tests of `firstlight::manifests::suggest`.

use firstlight::manifests::suggest::nearest;

#[test]
fn near_names_are_suggested_and_far_ones_not() {
    let kinds = ["Cluster", "Machine", "MachineSet", "MachineDeployment", "KubeadmControlPlane"];
    let cases = [
        ("Clutser", Some("Cluster")),
        ("cluster", Some("Cluster")),
        ("MachineDeploymnet", Some("MachineDeployment")),
        ("KubeadmControlPlain", Some("KubeadmControlPlane")),
        ("Deployment", None),
        ("Xyz", None),
    ];
    for (word, expected) in cases {
        assert_eq!(nearest(word, kinds), expected, "{word}");
    }
}
