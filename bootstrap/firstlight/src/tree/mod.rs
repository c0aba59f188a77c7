//! The output of `up` and `status`: each cluster as a tree, with the reasons and durations of waiting.

mod hosts;
pub mod model;
pub mod render;
pub mod view;
