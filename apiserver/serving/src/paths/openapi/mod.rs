//! OpenAPI v3 and v2. Each document is made when it is first asked for, and again after a change of the definitions.

pub(crate) mod answer;
mod document;
mod documents;
mod paths;
pub(crate) mod range;
mod schemas;
mod v2;
mod v2_protobuf;
mod v3_protobuf;
