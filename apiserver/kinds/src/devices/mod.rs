//! The kinds of `resource.k8s.io`: devices, and claims to them. No controller of this server allocates devices.

mod columns;
pub(crate) mod kinds;
