//! Names of the Docker backend: finalizers, labels of containers, types of conditions. Those of Cluster API's provider are the same there.

use system_containers::Container;

/// Finalizer of DevClusters; the Dev kinds took it over from the Docker kinds.
pub const CLUSTER_FINALIZER: &str = "dockercluster.infrastructure.cluster.x-k8s.io";
/// Finalizer of DevMachines.
pub const MACHINE_FINALIZER: &str = "dockermachine.infrastructure.cluster.x-k8s.io";

/// Label of a container: the name of its Cluster.
pub const LABEL_CLUSTER: &str = "io.x-k8s.kind.cluster";
/// Label of a container: [`CONTROL_PLANE_ROLE`], [`WORKER_ROLE`] or [`BALANCER_ROLE`].
pub const LABEL_ROLE: &str = "io.x-k8s.kind.role";
/// Label of a container: its failure domain.
pub const LABEL_FAILURE_DOMAIN: &str = "io.x-k8s.cluster.failureDomain";
/// Label of a container: the DevMachinePool that it belongs to.
pub const LABEL_POOL: &str = "dev.cluster.x-k8s.io/machine-pool";
/// Label of a container: the namespace of its object.
pub const LABEL_NAMESPACE: &str = "firstlight.dev/namespace";
/// Label of a container: the name of its object.
pub const LABEL_NAME: &str = "firstlight.dev/name";
/// Label of a container: the UID of its object when it was created.
pub const LABEL_UID: &str = "firstlight.dev/uid";

/// Role of a node of the control plane.
pub const CONTROL_PLANE_ROLE: &str = "control-plane";
/// Role of any other node.
pub const WORKER_ROLE: &str = "worker";
/// Role of a load balancer.
pub const BALANCER_ROLE: &str = "external-load-balancer";

/// The scheme of provider IDs. After it comes the name of the container.
pub const PROVIDER_ID: &str = "docker:////";

/// The provisioner of the StorageClasses whose volumes are folders in the nodes.
pub const STORAGE_PROVISIONER: &str = "firstlight.dev/node-storage";

/// Port of an API server in its node, and of an endpoint that names none.
pub const API_SERVER_PORT: u16 = 6443;

/// Returns the name of the Cluster of a container; it is empty if the container belongs to none.
pub fn cluster_of(container: &Container) -> &str {
    container.labels.get(LABEL_CLUSTER).map(String::as_str).unwrap_or_default()
}

/// Returns whether a container is a load balancer.
pub fn is_balancer(container: &Container) -> bool {
    container.labels.get(LABEL_ROLE).is_some_and(|role| role == BALANCER_ROLE)
}
