//! Tests of the lives of Clusters and Machines under the controllers.

mod deletion;
mod health_check;
mod lifecycle;
mod machine_pool;
mod remediation;
mod resting;
mod set_remediation;
mod support;
