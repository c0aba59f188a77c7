//! The commands, each in a file of its own.

pub mod backup;
pub mod bundle;
pub mod class;
pub mod completion;
pub mod controllers;
pub mod goal;
pub mod image;
pub mod inspect;
pub mod interruption;
pub mod list;
pub mod logs;
pub mod man_pages;
pub mod metal;
pub mod nodes;
pub mod pivot;
pub mod plan;
pub mod serve;
pub mod status;
pub mod stop;
pub mod undo;
pub mod up;
pub mod verbs;
pub mod wait;
