//! The output of `up` and `status`: each cluster as a tree, with the reasons and durations of waiting.

mod changes;
pub mod conditions;
mod fold;
mod hosts;
pub mod model;
pub mod pools;
pub mod render;
pub mod rest;
pub mod screen;
pub mod view;
mod words;
