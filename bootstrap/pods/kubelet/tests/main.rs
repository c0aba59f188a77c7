//! Tests of the kubelet.
