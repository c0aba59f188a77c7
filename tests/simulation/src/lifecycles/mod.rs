//! Lives of clusters that were recorded from Cluster API's own controllers, lived again here, step by step.
//!
//! A [`recording`] says which [`facts`] about which objects changed in which order after each step. A [`story`] takes the same steps in a
//! [`Simulation`](crate::simulation::Simulation), and compares: what an [`order`] lists happens in this order there and here, and the objects come to
//! rest with the same conditions, messages and numbers.

pub mod compare;
pub mod facts;
pub mod order;
pub mod play;
pub mod recording;
pub mod story;
pub mod topology;
