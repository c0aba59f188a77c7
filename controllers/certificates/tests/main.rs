//! Tests of certificates.

mod changes;
mod injection;
