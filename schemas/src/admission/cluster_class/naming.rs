//! Templates of names.

use machinery::names;

use super::workers;
use crate::admission::common::Errors;
use crate::cluster::{ClassNaming, ClusterClass};
use crate::naming::{Values, render};

const CLUSTER: (&str, &str) = ("cluster.name", "cluster");
const RANDOM: (&str, &str) = ("random", "x7k2p");
/// The longest name, and how much of a longer one is kept before a random end.
const NAME_MAX: usize = 63;
const NAME_KEPT: usize = 58;

pub fn naming(class: &ClusterClass, errors: &mut Errors) {
    let spec = &class.spec;
    let control_plane = spec.control_plane.naming.as_ref();
    template("spec.infrastructure.naming", spec.infrastructure.naming.as_ref(), &[CLUSTER, RANDOM], errors);
    template("spec.controlPlane.naming", control_plane, &[CLUSTER, RANDOM], errors);
    for class in workers::deployments(class) {
        let field = format!("{}.naming", workers::deployment_field(&class.class));
        let values = [CLUSTER, ("machineDeployment.topologyName", "workers"), RANDOM];
        template(&field, class.naming.as_ref(), &values, errors);
    }
    for class in workers::pools(class) {
        let field = format!("{}.naming", workers::pool_field(&class.class));
        let values = [CLUSTER, ("machinePool.topologyName", "workers"), RANDOM];
        template(&field, class.naming.as_ref(), &values, errors);
    }
}

/// Checks a template by a name that it makes. It may be without anything random, because there is only one object of each.
fn template(field: &str, naming: Option<&ClassNaming>, values: &Values<'_>, errors: &mut Errors) {
    let template = naming.and_then(|naming| naming.template.as_deref());
    let Some(template) = template.filter(|template| !template.is_empty()) else { return };
    let field = format!("{field}.template");
    let name = match render(template, values) {
        Ok(name) => name,
        Err(problem) => return errors.invalid(field, template, problem),
    };
    let name = if name.len() > NAME_MAX {
        let end = (0..=NAME_KEPT).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
        format!("{}{}", &name[..end], RANDOM.1)
    } else {
        name
    };
    for problem in names::dns1123_subdomain(&name) {
        errors.invalid(&field, template, format!("makes the name {name:?}: {problem}"));
    }
}
