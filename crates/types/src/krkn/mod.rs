//! `krkn.krkn-chaos.dev`: chaos scenarios against target clusters.

pub mod v1alpha1;
