//! Structural schemas: parsing, pruning, defaulting, and validation of types and values. The CEL rules of a schema are data
//! here; the crate `cel` compiles and evaluates them.

mod coerce;
mod correlate;
mod default;
mod embedded;
mod enumerated;
mod equality;
pub mod field_path;
pub mod formats;
mod lists;
mod number;
mod object_meta;
mod parse;
mod prune;
pub mod sizes;
mod structural;
mod validate;

pub use coerce::coerce;
pub use correlate::{OldItems, unchanged};
pub use default::{default, default_within, drop_nulls};
pub use embedded::validate_embedded;
pub use lists::validate_lists;
pub use parse::{SchemaError, summarise};
pub use prune::{prune, prune_defaults};
pub use structural::{Declared, Kind, ListType, Presence, Rule, Schema, Validation};
pub use validate::{validate_part, validate_values};
