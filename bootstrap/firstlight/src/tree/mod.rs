//! What `up` and `status` show: each cluster as a tree, what it waits for, and for how long.

mod hosts;
pub mod model;
pub mod render;
pub mod view;
