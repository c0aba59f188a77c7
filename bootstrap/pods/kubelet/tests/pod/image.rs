//! Tests of `kubelet::pod::image`.

use kubelet::pod::image::delay;

#[test]
fn pulls_become_slower() {
    assert_eq!([0, 1, 4, 5, 1000].map(|tries| delay(tries).num_seconds()), [10, 20, 160, 300, 300]);
}
