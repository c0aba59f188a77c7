//! Discovery: what is served, plain and aggregated. Made once for each change of the definitions.

mod aggregated;
mod answer;
pub(crate) mod documents;
mod groups;
mod resources;
