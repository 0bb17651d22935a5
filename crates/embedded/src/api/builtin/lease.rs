//! Lease: who holds something, and until when. Leader election stands on it.

use jiff::Timestamp;
use serde_json::Value;

use super::workload;
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct Lease;

const COLUMNS: &[Column] = &[NAME, column("Holder", "string", "Who holds the lease."), AGE];

impl Behaviour for Lease {
    fn default(&self, object: &mut Value) {
        let Some(spec) = workload::within(object, "spec") else { return };
        for field in ["acquireTime", "renewTime"] {
            if let Some(time) = spec.get(field).and_then(Value::as_str).and_then(micro_time) {
                spec[field] = time.into();
            }
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        drop_disabled(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value, _part: Part) {
        drop_disabled(new);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        let duration = &spec["leaseDurationSeconds"];
        if duration.as_i64().is_some_and(|seconds| seconds <= 0) {
            faults.invalid(&path.child("leaseDurationSeconds"), duration, "must be greater than 0");
        }
        valid::not_negative(&spec["leaseTransitions"], &path.child("leaseTransitions"), faults);
    }

    /// A holder that does not know the version it replaces must not win.
    fn unconditional_update(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let holder = object::text(object, "/spec/holderIdentity");
        vec![object::name(object).into(), holder.into(), object::age(object, now).into()]
    }
}

/// Upstream has these fields but leaves them switched off.
fn drop_disabled(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

/// A time with exactly six digits after the point, in UTC; `None` if it is anything else. Other forms of the time
/// are refused as malformed before an object gets here.
pub fn micro_time(text: &str) -> Option<String> {
    let fraction = text.split_once('.')?.1;
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let moment: Timestamp = (digits == 6).then(|| text.parse().ok())??;
    Some(moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_microseconds_and_become_utc() {
        let micro = |text| micro_time(text);
        assert_eq!(micro("2026-01-02T03:04:05.000000Z").as_deref(), Some("2026-01-02T03:04:05.000000Z"));
        assert_eq!(micro("2026-01-02T05:04:05.100001+02:00").as_deref(), Some("2026-01-02T03:04:05.100001Z"));
        for wrong in ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789Z", "yesterday", "."] {
            assert_eq!(micro(wrong), None, "{wrong}");
        }
    }
}
