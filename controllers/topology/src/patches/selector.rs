//! Which templates a patch definition is for.

use schemas::cluster::{PatchSelector, PatchSelectorMatchClass, Topology};

use super::items::{Item, Part};
use crate::object;

/// Returns whether a definition with this selector changes the template.
pub fn matches(selector: &PatchSelector, item: &Item, topology: Option<&Topology>) -> bool {
    let object = &item.item.object;
    if object::text(object, &["apiVersion"]) != selector.api_version || object::kind(object) != selector.kind
    {
        return false;
    }
    let resources = &selector.match_resources;
    match &item.part {
        Part::Infrastructure => resources.infrastructure_cluster == Some(true),
        Part::ControlPlane | Part::ControlPlaneMachines => resources.control_plane == Some(true),
        part => {
            let workers = topology.and_then(|topology| topology.workers.as_ref());
            let class = |classes: Option<&PatchSelectorMatchClass>, class: Option<&str>| {
                let names = classes.map_or(&[][..], |classes| &classes.names);
                class.is_some_and(|class| names.iter().any(|name| is_named(name, class)))
            };
            if let Some(name) = part.machine_deployment() {
                let entries = workers.map_or(&[][..], |workers| &workers.machine_deployments);
                let entry = entries.iter().find(|entry| entry.name == name);
                return class(
                    resources.machine_deployment_class.as_ref(),
                    entry.map(|entry| entry.class.as_str()),
                );
            }
            let entries = workers.map_or(&[][..], |workers| &workers.machine_pools);
            let entry = entries.iter().find(|entry| Some(entry.name.as_str()) == part.machine_pool());
            class(resources.machine_pool_class.as_ref(), entry.map(|entry| entry.class.as_str()))
        }
    }
}

/// Returns whether a name of a selector, with a `*` at its beginning or end, is that of the class.
fn is_named(name: &str, class: &str) -> bool {
    name == class
        || name.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || name.strip_suffix('*').is_some_and(|beginning| class.starts_with(beginning))
}
