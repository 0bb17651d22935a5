//! `kapsa-project.io`: from git to an environment with a domain.

pub mod v1alpha1;
