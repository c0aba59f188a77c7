//! Tests of `pod_network::gateway`.

mod flows;
