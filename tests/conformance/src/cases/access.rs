//! Who may do what: authentication, RBAC, impersonation and the review kinds.

use anneal_harness::Needs;
use anyhow::Result;
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases};

mod identity;
mod reviews;
mod rights;

use self::{identity::*, reviews::*, rights::*};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            without_credentials_one_is_anonymous,
            a_token_nobody_issued_is_unauthorized,
            without_rights_each_call_is_forbidden,
            a_role_grants_its_verbs_in_its_namespace_only,
            resource_names_restrict_a_right,
            update_patch_and_create_are_rights_of_their_own,
            deleting_a_collection_is_a_right_of_its_own,
            subresources_are_granted_apart,
            a_cluster_role_bound_in_a_namespace_counts_there_only,
            a_cluster_role_binding_counts_everywhere,
            wildcards_cover_every_group_resource_and_verb,
            paths_are_granted_by_prefix,
            groups_and_service_accounts_are_subjects,
            a_right_ends_with_its_binding,
            nobody_grants_rights_they_lack,
            nobody_binds_roles_beyond_their_rights,
            a_binding_keeps_its_role,
            roles_must_say_what_they_grant,
            impersonation_is_a_right_of_its_own,
            impersonated_groups_need_a_user,
            a_service_account_signs_in_by_token,
            token_requests_are_checked,
            a_token_is_good_for_its_audience_only,
            a_token_ends_with_its_service_account,
            token_reviews_tell_whose_a_token_is,
            subject_access_reviews_judge_users_and_groups,
            local_reviews_stay_in_their_namespace,
            self_reviews_are_about_the_caller,
            reviews_are_not_kept,
        ],
        Needs::CONTROLLERS => [a_cluster_role_gathers_rules_by_label],
    ]
}

/// Calls until it is no longer forbidden: a server may take a moment to heed a new right.
macro_rules! allowed {
    ($what:literal, $call:expr) => {
        eventually($what, async || {
            let reply: Reply = $call?;
            Ok((reply.status != 403).then_some(reply))
        })
        .await?
        .ok()?
    };
}

use allowed;

const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

fn who_am_i() -> Value {
    json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" })
}

fn rule(verb: &str, resource: &str) -> Value {
    json!({ "apiGroups": [""], "resources": [resource], "verbs": [verb] })
}

fn user_subject(user: &str) -> Value {
    json!([{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }])
}

fn binding(name: &str, kind: &str, role: &str, subjects: &Value) -> Value {
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role });
    json!({ "metadata": { "name": name }, "roleRef": role, "subjects": subjects })
}

async fn bind(cx: &Cx, name: &str, kind: &str, role: &str, subjects: &Value) -> Result<()> {
    cx.objects(&Kind::ROLE_BINDING).create(binding(name, kind, role, subjects)).await?.is(201)?;
    Ok(())
}

/// Makes a Role with these rules and binds it to the user.
async fn grant(cx: &Cx, name: &str, user: &str, rules: Value) -> Result<()> {
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    cx.objects(&Kind::ROLE).create(role).await?.is(201)?;
    bind(cx, name, "Role", name, &user_subject(user)).await
}

/// Makes a ClusterRole and tells the name it got.
async fn cluster_role(cx: &Cx, name: &str, mut role: Value) -> Result<String> {
    let (roles, name) = (cx.objects(&Kind::CLUSTER_ROLE), cx.unique(name));
    cx.delete_later(format!("{}/{name}", roles.path()));
    role["metadata"]["name"] = name.as_str().into();
    roles.create(role).await?.is(201)?;
    Ok(name)
}

/// Makes a ClusterRole and binds it in the whole cluster.
async fn bind_in_cluster(cx: &Cx, name: &str, role: Value, subjects: &Value) -> Result<()> {
    let name = cluster_role(cx, name, role).await?;
    let bindings = cx.objects(&Kind::CLUSTER_ROLE_BINDING);
    cx.delete_later(format!("{}/{name}", bindings.path()));
    bindings.create(binding(&name, "ClusterRole", &name, subjects)).await?.is(201)?;
    Ok(())
}
