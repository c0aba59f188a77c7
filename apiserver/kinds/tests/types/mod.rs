//! Tests of the structure of built-in kinds.

mod difference;
mod go;
mod internal;
mod tables;
mod text;
