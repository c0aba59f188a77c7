//! Patches of classes.

mod external;
mod inline;
mod json_patch;
mod limits;
mod protected;
mod selectors;
mod variables;
