//! Tests of `network`.

use std::time::Duration;

use metal_boot::network::Pauses;

#[test]
fn a_socket_that_fails_for_ever_is_looked_at_ever_more_rarely() {
    let (mut pauses, error) = (Pauses::default(), std::io::Error::other("the network is down"));
    let mut pause = || pauses.after("test", &error);
    let passing: Duration = (0..3).map(|_| pause()).sum();
    assert!(passing < Duration::from_millis(10), "an error that passes costs nothing: {passing:?}");
    let lasting: Duration = (0..70).map(|_| pause()).sum();
    assert!(lasting > Duration::from_secs(60), "{lasting:?}");
}
