//! Tests of the public functions: decoding, patches, apply, CEL, selectors, tables, and damaged or random input.

mod any_input;
mod apply;
mod apply_cases;
mod cel;
mod cel_cost;
mod cel_library;
mod damaged_input;
mod decode;
mod depth;
mod golden_crds;
mod golden_objects;
mod ownership;
mod patch;
mod protobuf;
mod selector;
mod table;
mod work;
