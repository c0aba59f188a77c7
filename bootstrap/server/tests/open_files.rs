//! Tests of `server::open_files`.

use rustix::process::{Resource, getrlimit};
use server::open_files::raise_limit;

#[test]
fn the_limit_is_the_highest() {
    raise_limit();
    let limit = getrlimit(Resource::Nofile);
    assert_eq!(limit.current, limit.maximum);
}
