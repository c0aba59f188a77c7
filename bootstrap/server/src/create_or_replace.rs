//! Writes of an object that several processes share.

use std::fmt::Debug;

use kube::api::PostParams;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Creates `object` with this name, or replaces exactly the object that was read: one without a resourceVersion is new.
///
/// # Errors
/// The API server refuses the write; with code 409 if another process has created or changed the object since it was read.
pub(crate) async fn create_or_replace<K>(api: &Api<K>, name: &str, mut object: K) -> kube::Result<()>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let parameters = PostParams::default();
    if object.meta().resource_version.is_some() {
        return api.replace(name, &parameters, &object).await.map(drop);
    }
    object.meta_mut().name = Some(name.to_owned());
    api.create(&parameters, &object).await.map(drop)
}
