//! `operator.kco.local`: watch an application's own state and act on it.

pub mod v1alpha1;
