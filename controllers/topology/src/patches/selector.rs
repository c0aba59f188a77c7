//! Which templates a patch definition is for.

use schemas::cluster::PatchSelector;

use super::budget::Budget;
use super::items::{Item, Part, WorkersKind};
use crate::object;

/// Returns whether a definition with this selector changes the template.
///
/// # Errors
/// The patches of the class have made too many steps.
pub fn matches(selector: &PatchSelector, item: &Item, budget: &mut Budget) -> Result<bool, String> {
    budget.steps(1)?;
    let object = &item.item.object;
    if object::text(object, &["apiVersion"]) != selector.api_version || object::kind(object) != selector.kind
    {
        return Ok(false);
    }
    let resources = &selector.match_resources;
    let part = match &item.part {
        Part::Infrastructure => return Ok(resources.infrastructure_cluster == Some(true)),
        Part::ControlPlane | Part::ControlPlaneMachines => return Ok(resources.control_plane == Some(true)),
        Part::Workers(part) => part,
    };
    let classes = match part.kind {
        WorkersKind::MachineDeployment => resources.machine_deployment_class.as_ref(),
        WorkersKind::MachinePool => resources.machine_pool_class.as_ref(),
    };
    let names = classes.map_or(&[][..], |classes| &classes.names);
    budget.steps(names.len())?;
    Ok(names.iter().any(|name| is_named(name, &part.class)))
}

/// Returns whether a name of a selector, with a `*` at its beginning or end, is that of the class.
fn is_named(name: &str, class: &str) -> bool {
    name == class
        || name.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || name.strip_suffix('*').is_some_and(|beginning| class.starts_with(beginning))
}
