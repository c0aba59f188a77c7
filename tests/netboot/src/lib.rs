//! Real machines, virtual: the kit that makes them, and the tests that boot them.
