//! The frames of bodies.

use bytes::Bytes;
use http_body_util::BodyExt;
use serving::Body;
use serving::testing::FRAME_BYTES;

#[tokio::test]
async fn small_pieces_are_sent_together() {
    let sizes = [1, 100, FRAME_BYTES - 101, 1, FRAME_BYTES, 1, FRAME_BYTES + 1];
    let mut body = Body::pieces(sizes.map(|size| Bytes::from(vec![b'x'; size])));
    let total: usize = sizes.iter().sum();
    assert_eq!(http_body::Body::size_hint(&body).exact(), Some(total as u64));
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        frames.push(frame.unwrap().into_data().unwrap().len());
    }
    assert_eq!(frames, [FRAME_BYTES, 1, FRAME_BYTES, 1, FRAME_BYTES + 1]);
    assert!(http_body::Body::is_end_stream(&body));
}
