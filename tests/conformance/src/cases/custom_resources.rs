//! Custom resources: schema, defaults, pruning, rules, subresources.

use anneal_harness::Needs;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Case, case::cases};

mod definition;
mod rules;
mod schema;
mod subresources;

use self::{definition::*, rules::*, schema::*, subresources::*};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            a_definition_is_accepted_then_established,
            wrong_definitions_are_refused,
            a_second_definition_does_not_get_taken_names,
            group_and_scope_of_a_definition_never_change,
            discovery_tells_short_names_categories_and_scale,
            two_versions_show_one_object,
            a_version_that_is_not_served_is_not_found,
            stored_versions_grow_and_guard_what_is_stored,
            a_deprecated_version_warns,
            objects_without_namespace_live_in_the_cluster,
            selectable_fields_select,
            printer_columns_show_by_type_and_priority,
            deleting_a_definition_deletes_its_objects,
            a_finalizer_holds_up_the_definitions_end,
            wrong_types_name_their_fields,
            whole_numbers_are_written_without_a_fraction,
            each_bound_is_enforced_and_inclusive,
            all_faults_are_named_at_once,
            any_of_one_of_and_not_are_checked,
            duplicates_are_refused_in_sets_and_maps,
            unknown_fields_are_pruned,
            unknown_fields_are_kept_where_the_schema_says_so,
            embedded_resources_are_checked_and_pruned,
            int_or_string_takes_both_and_no_more,
            defaults_fill_what_is_absent,
            defaults_reach_objects_stored_before,
            null_gives_way_unless_nullable,
            metadata_is_checked_as_everywhere,
            a_stricter_schema_judges_later_writes,
            what_did_not_change_is_not_judged_again,
            strict_requests_name_unknown_fields,
            applied_lists_merge_as_the_schema_says,
            strategic_patches_are_not_understood,
            rules_judge_fields_objects_lists_and_maps,
            rules_know_strings_times_and_quantities,
            rules_say_why_in_their_own_words,
            a_failing_rule_refuses,
            rules_on_absent_fields_do_not_run,
            transition_rules_judge_updates_only,
            a_rule_at_the_root_sees_the_name,
            rules_judge_the_status_too,
            rules_that_do_not_compile_are_refused,
            rules_that_may_cost_too_much_are_refused,
            status_is_written_through_its_subresource_only,
            generation_counts_changes_of_the_spec,
            without_the_status_subresource_status_is_a_field_like_any,
            scale_reads_and_writes_replicas,
        ],
    ]
}

/// The schema of an object whose spec has these properties.
fn of_spec(properties: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } })
}

fn object(name: &str, spec: Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn ensure_message(status: &Value, field: &str, message: &str) -> Result<()> {
    let says = |cause: &Value| cause["message"].as_str().is_some_and(|text| text.contains(message));
    let causes = status["details"]["causes"].as_array();
    let found = causes.into_iter().flatten().any(|c| c["field"] == field && says(c));
    ensure!(found, "no cause for {field} says {message:?}: {status}");
    Ok(())
}
