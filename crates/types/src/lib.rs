//! Every custom resource of Anneal, a folder per API group.
//!
//! A kind is a file: its spec, its status, and small functions that read only its own fields.
//! Nothing here talks to a server. The doc comment of a field is its description in the CRD, so it
//! is written for the person at `kubectl explain`: unit, default, and what leaving it empty means.
//!
//! | group | folder | kinds |
//! |---|---|---|
//! | `cloudnative.elide.dev` | [`elide`] | Application |
//! | `kapsa-project.io` | [`kapsa`] | Project, Environment, DomainPool, Registry |
//! | `operator.kco.local` | [`kco`] | TargetApp |
//! | `krkn.krkn-chaos.dev` | [`krkn`] | KrknTargetRequest, KrknOperatorTargetProvider, KrknOperatorTarget, KrknScenarioRun |
#![warn(missing_docs)]
#![allow(clippy::duplicated_attributes, reason = "a printer column repeats the keys of the one before")]

pub mod condition;
pub mod crd;
pub mod elide;
pub mod kapsa;
pub mod kco;
pub mod krkn;
