//! Encoding of answers: content negotiation, Tables, partial metadata, YAML, warnings.

pub(crate) mod answer;
pub(crate) mod conditions;
pub(crate) mod negotiate;
pub(crate) mod partial;
pub(crate) mod reply;
pub(crate) mod table;
pub(crate) mod transform;
pub(crate) mod warnings;
