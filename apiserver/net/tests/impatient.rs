//! Connections whose peer accepts no bytes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io;
use std::time::Duration;

use metrics::Limits;
use net::server::{Impatient, Patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_is_cut_off_and_who_is_slow_is_not() {
    let (own, mut other) = tokio::io::duplex(16);
    let metrics = metrics::Metrics::default();
    let mut own =
        Impatient::new(own, Patience::Some(Duration::from_secs(60)), Limits::of(&metrics), "stalled");
    let reads = async {
        let mut buffer = [0; 16];
        for _ in 0..4 {
            sleep(Duration::from_secs(59)).await;
            other.read_exact(&mut buffer).await.unwrap();
        }
    };
    let (written, ()) = tokio::join!(own.write_all(&[7; 64]), reads);
    written.unwrap();
    assert!(!metrics.text().contains("stalled"));
    let ended = own.write_all(&[7; 64]).await.unwrap_err();
    assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    assert!(own.shutdown().await.is_ok());
    let counted = "firstlight_limit_reached_total{limit=\"stalled\"} 1\n";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
}

#[tokio::test(start_paused = true)]
async fn who_must_take_everything_is_cut_off_if_it_only_takes_some() {
    for (bytes, expected) in [(64, Ok(())), (96, Err(io::ErrorKind::TimedOut))] {
        let (own, mut other) = tokio::io::duplex(16);
        let patience = Patience::All(Duration::from_secs(60));
        let mut own = Impatient::new(own, patience, Limits::default(), "stalled");
        let reads = async {
            loop {
                sleep(Duration::from_secs(14)).await;
                other.read_exact(&mut [0; 16]).await.unwrap();
            }
        };
        let writes = async {
            // The time begins again after a flush.
            for _ in 0..2 {
                own.write_all(&vec![7; bytes]).await?;
                own.flush().await?;
            }
            Ok(())
        };
        let outcome: io::Result<()> = tokio::select! {
            biased;
            outcome = writes => outcome,
            () = reads => unreachable!("it never ends"),
        };
        assert_eq!(outcome.map_err(|error| error.kind()), expected);
    }
}
