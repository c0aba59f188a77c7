//! Tests of webhook calls, and of admission by their responses.

mod admission;
mod calls;
