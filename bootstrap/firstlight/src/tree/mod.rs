//! The output of `up` and `status`: each cluster as a tree, with the reasons and durations of waiting.

pub mod changes;
pub mod conditions;
pub mod fold;
pub mod hosts;
pub mod model;
pub mod pools;
pub mod render;
pub mod rest;
pub mod screen;
pub mod view;
pub mod words;
