//! Tests of `clients::session`.

use clients::session::ended_its_own_watch;

#[test]
fn only_the_warning_about_the_own_end_of_a_watch_is_dropped() {
    let warning = |cause: &str| {
        format!(
            "I1128 21:37:26.098816   14712 reflector.go:664] \"Warning: watch ended with error\" \
             reflector=\"k8s.io/client-go/tools/watch/informerwatcher.go:162\" \
             type=\"*unstructured.Unstructured\" err=\"an error on the server \
             (\\\"unable to decode an event from the watch stream: {cause}\\\") \
             has prevented the request from succeeding\"\n"
        )
    };
    assert!(ended_its_own_watch(&warning("context canceled")));
    assert!(!ended_its_own_watch(&warning("unexpected EOF")));
    assert!(!ended_its_own_watch("machinedeployment.cluster.x-k8s.io/blue-web condition met\n"));
}
