//! Patches of classes.

mod external;
mod inline;
mod limits;
mod protected;
mod selectors;
mod variables;
