//! Go's names of fields and types.

use kinds::types::go_place;

#[test]
fn places() {
    for (root, path, holder, go_type) in [
        ("core.v1.Pod", "metadata", "Pod", "v1.ObjectMeta"),
        ("core.v1.Pod", "metadata.ownerReferences.[0].uid", "OwnerReference", "types.UID"),
        ("core.v1.Pod", "spec.containers", "PodSpec", "[]v1.Container"),
        ("core.v1.Pod", "spec.containers.[1].image", "Container", "string"),
        ("core.v1.Pod", "spec.volumes.[0].emptyDir", "Volume", "v1.EmptyDirVolumeSource"),
        ("core.v1.Service", "spec.type", "ServiceSpec", "v1.ServiceType"),
        ("core.v1.ConfigMap", "data.[a]", "ConfigMap", "string"),
        (
            "core.v1.PersistentVolumeClaim",
            "spec.accessModes.[0]",
            "PersistentVolumeClaimSpec",
            "v1.PersistentVolumeAccessMode",
        ),
    ] {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let found = go_place(root, &path).unwrap();
        assert_eq!((found.holder.as_str(), found.go_type.as_str()), (holder, go_type), "{root} {path:?}");
    }
    let source = ["spec", "volumes", "[0]", "emptyDir"].map(str::to_owned);
    assert_eq!(go_place("core.v1.Pod", &source).unwrap().names, "spec.volumes.VolumeSource.emptyDir");
    assert_eq!(go_place("core.v1.Pod", &["nothing".to_owned()]), None);
}
