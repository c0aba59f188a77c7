//! Tests of `modules`.

use agent::testing::Tried;
use parking_lot::Mutex;

#[test]
fn what_another_thread_loads_is_waited_for() {
    let (tried, loaded) = (Tried::default(), Mutex::new(Vec::new()));
    let (begins, begun) = std::sync::mpsc::channel();
    let (ends, ended) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (tried, loaded) = (&tried, &loaded);
        scope.spawn(move || {
            tried.once("net_failover", || {
                begins.send(()).unwrap();
                ended.recv().unwrap();
                loaded.lock().push("net_failover");
            });
        });
        begun.recv().unwrap();
        let second = scope.spawn(|| {
            tried.once("net_failover", || loaded.lock().push("again"));
            tried.once("virtio_net", || loaded.lock().push("virtio_net"));
        });
        // Other modules are not blocked, and the module that depends on the first one is not loaded before it.
        tried.once("virtio_blk", || loaded.lock().push("virtio_blk"));
        assert!(!second.is_finished());
        ends.send(()).unwrap();
    });
    assert_eq!(*loaded.lock(), ["virtio_blk", "net_failover", "virtio_net"]);
}
