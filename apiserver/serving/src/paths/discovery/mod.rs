//! Discovery: what is served, plain and aggregated. Made once for each change of the definitions.

mod aggregated;
pub(crate) mod answer;
mod documents;
pub(crate) mod groups;
mod resources;
