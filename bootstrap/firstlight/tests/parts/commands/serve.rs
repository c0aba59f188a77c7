//! Tests of `firstlight::commands::serve`.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use firstlight::commands::serve::notify;

#[test]
fn the_service_manager_is_told_wherever_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let name = format!("firstlight-notify-{}", std::process::id());
    let abstract_address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let table = [
        (path.clone().into_os_string(), UnixDatagram::bind(&path).unwrap()),
        (format!("@{name}").into(), UnixDatagram::bind_addr(&abstract_address).unwrap()),
    ];
    for (socket, listener) in table {
        notify(&socket).unwrap();
        let mut said = [0; 16];
        let length = listener.recv(&mut said).unwrap();
        assert_eq!(&said[..length], b"READY=1", "{socket:?}");
    }
    assert!(notify(OsStr::new("/nowhere/notify")).is_err());
}
