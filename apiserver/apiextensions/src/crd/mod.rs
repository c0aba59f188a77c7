//! Decoding, defaulting, validation and conditions of CustomResourceDefinitions, as in apiextensions-apiserver. All
//! functions work on the object as JSON in version v1.

mod complete;
mod conditions;
mod conversion;
mod decode;
mod defaults;
mod errors;
mod formats;
mod json_paths;
mod keywords;
mod names;
mod read;
mod rules;
mod spec;
mod structural;
mod value;
mod versions;

pub use complete::default;
pub use conditions::{
    CLEANUP_FINALIZER, Taken, accept_names, is_established, prepare_for_create, prepare_for_update,
    set_condition,
};
pub use decode::decode;
pub use formats::format_warnings;
pub use spec::{validate, validate_status_update, validate_update};
pub use value::validate_value_schema;
