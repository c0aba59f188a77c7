//! The commands, each in a file of its own.

pub mod backup;
pub mod completion;
pub mod controllers;
pub mod image;
pub mod inspect;
pub mod metal;
pub mod pivot;
pub mod serve;
pub mod up;
pub mod verbs;
