//! Tests of images.
