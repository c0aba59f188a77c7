//! Tests of `firstlight::parts::controllers`.

mod kinds;
mod selection;
mod table;
