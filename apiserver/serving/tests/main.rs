//! Tests of the server over HTTP.

mod http;
