//! Cluster API's own kinds: for each a table of the fields that have another place or another form in `v1beta2`. Fields that the
//! target version does not have are dropped, whether a table names them or not. The tables follow upstream's conversion (Cluster API
//! v1.14, `api/*/conversion.go` and `webhooks/conversion`).

pub mod claim_label;
pub mod cluster;
pub mod cluster_class;
pub mod kubeadm;
pub mod machines;
pub mod other;
mod parts;
mod status;
