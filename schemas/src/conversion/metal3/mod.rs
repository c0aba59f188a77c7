//! Kinds of Metal3's infrastructure provider: for each two functions that move its fields.

pub mod cluster;
pub mod data;
pub mod data_template;
pub mod machine;
pub mod remediation;
mod status;
