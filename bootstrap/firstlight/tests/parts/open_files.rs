//! Tests of `firstlight::open_files`.

use firstlight::open_files::raise_limit;
use rustix::process::{Resource, getrlimit};

#[test]
fn the_limit_is_the_highest() {
    raise_limit();
    let limit = getrlimit(Resource::Nofile);
    assert_eq!(limit.current, limit.maximum);
}
