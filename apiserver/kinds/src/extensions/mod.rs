//! CustomResourceDefinitions and APIServices.

mod columns;
mod definition;
pub(crate) mod kinds;
