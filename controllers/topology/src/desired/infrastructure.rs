//! What the cluster shares: its InfrastructureCluster.

use serde_json::Value;

use super::cloned::{self, Copy};
use super::error::{DesiredError, in_template};
use super::inputs::Inputs;
use crate::names::{self, Random};
use crate::object::Texts;

const NAME: &str = "{{ .cluster.name }}-{{ .random }}";

/// Makes the object. It keeps the name that the Cluster refers to.
pub fn compute(inputs: &Inputs<'_>, random: Random<'_>) -> Result<Value, DesiredError> {
    let cluster = &inputs.current.cluster;
    let class = &inputs.blueprint.class.spec.infrastructure;
    let naming = class.naming.as_ref().and_then(|naming| naming.template.as_deref()).unwrap_or(NAME);
    let values = [("cluster.name", cluster.metadata.name.as_deref().unwrap_or_default())];
    let current = cluster.spec.infrastructure_ref.as_ref().map(|reference| reference.name.as_str());
    let new = names::from_template(naming, &values, current, random).map_err(|message| {
        DesiredError::Name { field: "spec.infrastructure.naming.template".into(), message }
    })?;
    let copy = Copy {
        cluster,
        name: cloned::kept(current, new),
        labels: Texts::new(),
        annotations: Texts::new(),
        is_owned: false,
    };
    let template = &inputs.blueprint.infrastructure.object;
    copy.object(template).map_err(in_template(template))
}
