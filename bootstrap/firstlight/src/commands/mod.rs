//! One file a command.

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
