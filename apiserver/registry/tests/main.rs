//! The registry from outside: verbs, conversion, rules, housekeeping, and random requests against a model.

mod common;
mod conversion;
mod depth;
mod housekeeping;
mod model;
mod rules;
mod verbs;
