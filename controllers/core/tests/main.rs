//! Tests of the lives of Clusters and Machines under the controllers.

mod bad_input;
mod cluster;
mod crd_migrator;
mod deletion;
mod draining;
mod health_check;
mod lifecycle;
mod machine;
mod machine_deployment;
mod machine_pool;
mod machine_set;
mod remediation;
mod reports;
mod resting;
mod set_remediation;
mod support;
