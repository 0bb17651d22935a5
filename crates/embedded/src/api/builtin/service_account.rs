//! ServiceAccount: a user for programs in a namespace. What pods get of it is decided in `pod/admission.rs`.

use crate::api::behaviour::Behaviour;

pub struct ServiceAccount;

impl Behaviour for ServiceAccount {}
