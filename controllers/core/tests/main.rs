//! Tests of the lives of Clusters and Machines under the controllers.

mod deletion;
mod lifecycle;
mod resting;
mod set_remediation;
mod support;
