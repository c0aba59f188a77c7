//! Tests of `attack::routes`.

mod model;
