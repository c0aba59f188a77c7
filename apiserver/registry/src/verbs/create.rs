//! Creation of objects.

use kinds::Subresource;
use kinds::strategy::Generation;
use machinery::status::Status;
use machinery::{meta, names};
use serde_json::Value;

use crate::admission::review::Operation;
use crate::context::{Context, Input};
use crate::response::Written;
use crate::storage::outline;
use crate::target::Target;
use crate::versions::current::Versions;
use crate::versions::definitions::{Life, Served};
use crate::versions::fields;
use crate::write::allocation::settled;
use crate::write::changed::Ownership;
use crate::write::charge::charge;
use crate::write::decode;
use crate::write::identity;
use crate::write::metadata;
use crate::write::ownership::note;
use crate::write::size;
use crate::write::validate;
use crate::write::writes::Writes;

/// Maximum number of generated names that are tried if a name is taken.
const NAME_ATTEMPTS: usize = 8;

/// Creates an object. If a client posts a custom object to a path with a name, that name is ignored.
pub(crate) async fn create(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    input: Input,
) -> Result<Written, Status> {
    let object = decode::input(context, served, input)?;
    let target = Target { served, namespace, name: "", subresource: Subresource::None };
    create_object(writes, context, target, object, Ownership::Note).await
}

/// Creates a decoded object.
pub(crate) async fn create_object(
    writes: &Writes,
    context: &mut Context,
    target: Target<'_>,
    mut object: Value,
    ownership: Ownership,
) -> Result<Written, Status> {
    let served = target.served;
    identity::identify(served.definition.namespaced, target.namespace, target.name, &mut object)?;
    check_home(writes, &target, meta::name(&object))?;
    context.warnings.extend(metadata::dedup_owners(&mut object));
    forget_system_fields(&mut object);
    // Fields that admission adds are not owned by the client.
    if matches!(ownership, Ownership::Note) {
        object = note(writes, context, &target, None, object).await?;
    }
    writes.admission().mutate(context, &target, Operation::Create, None, &mut object).await?;
    // A webhook may have changed anything.
    identity::identify(served.definition.namespaced, target.namespace, target.name, &mut object)?;
    context.warnings.extend(metadata::dedup_owners_after_admission(&mut object));
    forget_system_fields(&mut object);
    if meta::name(&object).is_empty() {
        return create_generated(writes, context, target, &object, ownership).await;
    }
    let name = meta::name(&object).to_owned();
    try_create(writes, context, &Target { name: &name, ..target }, object, ownership).await
}

/// Creates an object with a generated name. Generates another name while the name is taken.
async fn create_generated(
    writes: &Writes,
    context: &mut Context,
    target: Target<'_>,
    nameless: &Value,
    ownership: Ownership,
) -> Result<Written, Status> {
    for attempt in 1.. {
        let mut object = nameless.clone();
        generate_name(writes, target.served, &mut object);
        let name = meta::name(&object).to_owned();
        match try_create(writes, context, &Target { name: &name, ..target }, object, ownership).await {
            Err(status) if status.reason == "AlreadyExists" && attempt < NAME_ATTEMPTS => {}
            answer => return answer,
        }
    }
    Err(target.not_found())
}

async fn try_create(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    mut object: Value,
    ownership: Ownership,
) -> Result<Written, Status> {
    let served = target.served;
    system_fields(writes, &mut object);
    prepare(served, &mut object);
    let reservation =
        writes.allocator().allocate(writes.storage(), target, &mut object, None, context.dry_run)?;
    served.strategy().requested_by(&mut object, &context.user);
    let errors = validate::validate(target, &object, None, false);
    target.refuse(&object, &errors)?;
    if let Some(refusal) = &context.create_refusal {
        return Err(refusal.clone());
    }
    if let Some(why) = served.strategy().create_refusal(&object) {
        return Err(Status::forbidden(served.resource(), target.name, &why));
    }
    if !served.definition.built_in {
        context.warnings.extend(metadata::warnings(&object, None));
    }
    context.warnings.extend(validate::warnings(target, &object, None));
    writes.admission().validate(context, target, Operation::Create, None, &object).await?;
    let _turn = charge(writes, context, target, None, &object).await?;
    let given = meta::resource_version(&object).to_owned();
    if !context.dry_run && given.parse::<u64>().is_ok_and(|revision| revision > 0) {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let key = target.key();
    let taken = || {
        let mut status = Status::already_exists(served.resource(), target.name);
        let found = writes.storage().stored(&target.key());
        if found.is_some_and(|stored| outline::of(&stored).is_some_and(|outline| outline.is_deleting)) {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    };
    decode::drop_applied_nulls(served, ownership, &mut object);
    let stored = writes.versions().to_storage(served, object).await?;
    let document = fields::document(served, &stored);
    if context.dry_run {
        if writes.storage().get(&key).is_some() {
            return Err(taken());
        }
        let mut object = writes.versions().show_unstored(served, document.unversioned()).await?;
        if !given.is_empty()
            && let Ok(mut shown) = machinery::decode::own::<Value>(&object)
        {
            shown["metadata"]["resourceVersion"] = given.into();
            object = fields::text(served, &shown);
        }
        return Ok(Written { object, created: true });
    }
    let (_, document) = size::fit(context, target, ownership, stored, document, None)?;
    // Admission can take long, and namespace and definition may be deleted by now.
    let stored = writes.storage().create(&key, document, &|| check_home(writes, target, target.name))?;
    let entry = settled(reservation, stored).await.map_err(|error| error.status(taken))?;
    served.prove(&key, entry.revision, true);
    writes.wrote(served, &entry).await;
    Ok(Written { object: writes.versions().show(served, &entry.value, entry.revision).await?, created: true })
}

/// Sets the system fields, and overwrites values of the client.
fn system_fields(writes: &Writes, object: &mut Value) {
    let uid = writes.random().uid();
    let now = writes.now();
    let Some(metadata) = meta::metadata_mut(object) else { return };
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.into());
}

fn generate_name(writes: &Writes, served: &Served, object: &mut Value) {
    let base = object["metadata"]["generateName"].as_str().unwrap_or_default().to_owned();
    if base.is_empty() {
        return;
    }
    if let Some(metadata) = meta::metadata_mut(object) {
        metadata.insert("name".into(), names::generate(&base, writes.random()).into());
    }
    served.strategy().name_generated(object);
}

/// Checks that the namespace and the definition of a new object exist and are not being deleted.
fn check_home(writes: &Writes, target: &Target<'_>, name: &str) -> Result<(), Status> {
    check_namespace(writes, target, name)?;
    check_definition(writes.versions(), target, name)
}

fn check_namespace(writes: &Writes, target: &Target<'_>, name: &str) -> Result<(), Status> {
    if !target.served.definition.namespaced || !writes.needs_namespaces() {
        return Ok(());
    }
    let namespace = target.namespace;
    let key = format!("/registry/core/namespaces/{namespace}");
    let resource = machinery::status::GroupResource { group: "", resource: "namespaces" };
    let Some(stored) = writes.storage().stored(&key) else {
        return Err(Status::not_found(resource, namespace));
    };
    if !outline::of(&stored).is_some_and(|outline| outline.is_deleting) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(target.served.resource(), name, &why);
    if let Some(Value::Object(details)) = &mut status.details {
        let cause = serde_json::json!({
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        });
        details.insert("causes".into(), Value::Array(vec![cause]));
    }
    Err(status)
}

fn check_definition(versions: &Versions, target: &Target<'_>, name: &str) -> Result<(), Status> {
    if target.served.definition.built_in {
        return Ok(());
    }
    match versions.definitions().life_of(target.served) {
        Life::Lasting => Ok(()),
        Life::Ending => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(target.served.resource(), name, why))
        }
        // A definition with the same name is another one, with other rules.
        Life::Over => Err(Status::no_such_path()),
    }
}

/// Removes the fields that a client cannot set in a new object.
fn forget_system_fields(object: &mut Value) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    for key in ["creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"] {
        metadata.remove(key);
    }
}

/// Prepares a new object for its kind.
fn prepare(served: &Served, object: &mut Value) {
    let strategy = served.strategy();
    if served.version.status
        && !served.definition.built_in
        && let Some(map) = object.as_object_mut()
    {
        map.remove("status");
        // An object that is read from the store has defaults, too.
        machinery::schema::default(&served.version.schema, object);
    }
    if strategy.generation() != Generation::Untouched
        && let Some(metadata) = meta::metadata_mut(object)
    {
        metadata.insert("generation".into(), 1.into());
    }
    strategy.prepare_create(object);
}
