//! What a claim asks for that a folder in a node cannot be. Pure.

use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

/// The access modes of a volume that is in one node.
const MODES: [&str; 2] = ["ReadWriteOnce", "ReadWriteOncePod"];

/// Returns everything that hinders a volume for a claim, each with what to do.
pub(super) fn refusals(spec: &PersistentVolumeClaimSpec) -> Vec<String> {
    let mut refusals = Vec::new();
    let modes = spec.access_modes.iter().flatten().map(String::as_str);
    let others: Vec<&str> = modes.filter(|mode| !MODES.contains(mode)).collect();
    if !others.is_empty() {
        refusals.push(format!(
            "spec.accessModes has {}, but a volume is in one node: ask for {}",
            others.join(", "),
            MODES.join(" or ")
        ));
    }
    if let Some(mode) = spec.volume_mode.as_deref().filter(|mode| *mode != "Filesystem") {
        refusals.push(format!("spec.volumeMode is {mode}, but a volume is a folder: ask for Filesystem"));
    }
    if spec.selector.is_some() {
        refusals.push(
            "spec.selector selects no new volume, only one that somebody creates: leave it out".to_owned(),
        );
    }
    if spec.data_source.is_some() || spec.data_source_ref.is_some() {
        refusals.push(
            "spec.dataSource and spec.dataSourceRef are not supported, a volume is empty at first: leave them out"
                .to_owned(),
        );
    }
    refusals
}
