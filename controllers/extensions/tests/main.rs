//! The tests of runtime extensions: a server with HTTPS, and the client and controller that call it.

mod bad_input;
mod calls;
mod discovery;
mod in_place;
mod lives;
mod support;
