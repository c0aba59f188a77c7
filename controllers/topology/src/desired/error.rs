//! Why desired objects cannot be made.

use serde_json::Value;
use thiserror::Error;

use crate::limits::ALL_TEMPLATES_BYTES_MAX;
use crate::object;

/// Why desired objects cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DesiredError {
    /// The Cluster has no topology.
    #[error("the Cluster has no spec.topology")]
    NoTopology,
    /// A class of workers that the topology names does not exist.
    #[error("{field}: the ClusterClass {class} has no such class of {kind}: {missing:?}")]
    NoWorkerClass {
        /// The field of the Cluster.
        field: String,
        /// The ClusterClass.
        class: String,
        /// `MachineDeployments` or `MachinePools`.
        kind: &'static str,
        /// The class that is missing.
        missing: String,
    },
    /// The template of a name cannot be rendered, or gives no name.
    #[error("{field} of the ClusterClass: {message}")]
    Name {
        /// The field of the class.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// The copies of the templates are too large together.
    #[error(
        "the templates of the Cluster would have more than {ALL_TEMPLATES_BYTES_MAX} bytes together, because each entry of its workers gets a copy of those of its class: make \
         the templates smaller, or use fewer entries"
    )]
    TooLarge,
    /// A template of the class has not the form of one.
    #[error("{template}: {message}")]
    Template {
        /// Kind, namespace and name of the template.
        template: String,
        /// What is wrong.
        message: String,
    },
}

/// Wraps a sentence about a template.
pub fn in_template(template: &Value) -> impl Fn(String) -> DesiredError + '_ {
    move |message| DesiredError::Template { template: object::described(template), message }
}
