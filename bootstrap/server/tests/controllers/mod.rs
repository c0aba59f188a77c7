//! Tests of `server::controllers`.

mod kinds;
mod selection;
mod table;
