//! Tests of the server over HTTP, and of its parsers and encoders.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod body;
mod coalesce;
mod event_lines;
mod groups;
mod http;
mod negotiate;
mod paths;
mod ranges;
mod table;
mod warnings;
