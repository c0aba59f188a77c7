//! The structure of built-in kinds as data. `types.txt` defines each type once. It is the source of the schemas for
//! decoding, merging and field ownership, of the protobuf messages, and of the OpenAPI components.
//!
//! Types and schemas are parsed at their first use: a type when it is first looked up, a schema when the first object
//! of its kind is written. They are kept for all servers of the process.

mod addresses;
mod checks;
mod difference;
mod go;
mod index;
mod internal;
mod openapi;
mod parse;
mod schema;
mod structure;
mod text;
mod validate;

pub(crate) use addresses::{address_problem, cidr_problem};
pub(crate) use checks::{port_name, selector};
pub use difference::unified;
pub use go::{GoPlace, go_place};
pub use index::{find, name_of, values};
pub(crate) use index::{names, read};
pub(crate) use internal::same;
pub use internal::{changes, shown};
pub use openapi::{components, openapi_name};
pub use schema::LazySchema;
pub(crate) use schema::zero_object;
pub use structure::{Field, FieldType, Type};
pub(crate) use text::escaped;
pub use text::go_text;
pub(crate) use validate::validate;
