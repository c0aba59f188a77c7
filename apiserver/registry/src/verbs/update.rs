//! The verb `update`.

use kinds::Subresource;
use machinery::meta;
use machinery::status::Status;

use super::create;
use super::scale::write as scale;
use crate::context::{Context, Input};
use crate::response::Written;
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::write::changed::{Changed, Ownership};
use crate::write::decode;
use crate::write::identity;
use crate::write::metadata;
use crate::write::writes::Writes;

/// Replaces an object or a subresource.
pub(crate) async fn update(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    name: &str,
    subresource: Subresource,
    input: Input,
) -> Result<Written, Status> {
    let target = Target { served, namespace, name, subresource };
    if subresource == Subresource::Scale {
        return scale::update_scale(writes, context, &target, input).await;
    }
    let mut object = decode::input(context, served, input)?;
    identity::identify(served.definition.namespaced, namespace, name, &mut object)?;
    context.warnings.extend(metadata::dedup_owners(&mut object));
    if writes.storage().get(&target.key()).is_none() {
        if subresource == Subresource::None && served.strategy().create_on_update() {
            if let Some(metadata) = meta::metadata_mut(&mut object) {
                metadata.remove("resourceVersion");
            }
            return create::create_object(writes, context, target, object, Ownership::Note).await;
        }
        return Err(target.not_found());
    }
    let uid = Some(meta::uid(&object)).filter(|uid| !uid.is_empty()).map(str::to_owned);
    writes
        .change(context, &target, |_, _| {
            let changed =
                Changed { object: object.clone(), ownership: Ownership::Note, expected_uid: uid.clone() };
            Ok(changed)
        })
        .await
}
