//! Pivots between servers, with faults of all kinds.

/// That of the program, which needs a quarter less time than the C library's for the pieces of JSON.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod additions;
mod bad_input;
mod classes;
mod directory;
mod graphs;
mod hosts;
mod kill;
mod never_both;
mod preflight;
mod providers;
mod running;
mod whole;
