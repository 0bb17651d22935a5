//! What a cluster begins with: its namespaces and the roles that access starts from.

use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{
    access,
    behaviour::Part,
    error::{ApiError, Result},
    object,
    options::FieldValidation,
    server::Server,
    write::{Origin, Write},
};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Makes what is missing, and brings roles of ours up to date that nobody has claimed. All at once, so that they share
/// a few commits: what depends on another does so by name only.
pub async fn ensure(server: &Server) -> Result<()> {
    let namespaces = NAMESPACES
        .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    let objects = namespaces.into_iter().chain(access::bootstrap_objects());
    try_join_all(objects.map(|object| ensure_one(server, object))).await.map(drop)
}

async fn ensure_one(server: &Server, object: Value) -> Result<()> {
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), &object["kind"]);
    let resources = server.resources.all();
    let resource =
        resources.values().find(|resource| resource.api_version == api_version && *kind == resource.kind);
    let resource =
        resource.ok_or_else(|| ApiError::internal(format!("{api_version} {kind} is not served")))?;
    let mut write = Write {
        server,
        resource,
        namespace: object::namespace(&object),
        part: Some(Part::Main),
        subresource: "",
        manager: "anneal",
        validation: FieldValidation::Ignore,
        dry_run: false,
        warnings: Vec::new(),
    };
    let name = object::name(&object).to_owned();
    if server.store.get(&write.key(&name)).is_none() {
        write.create(object.clone(), Origin::Update).await?;
    } else if *kind != "Namespace" {
        let update = |_: &mut Write<'_>, live: &Value| {
            Ok(access::reconcile(live, &object).unwrap_or_else(|| live.clone()))
        };
        write.modify(&name, Origin::Patch, update).await?;
    }
    Ok(())
}
