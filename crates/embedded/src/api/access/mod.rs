//! Who calls, and whether they may: tokens, RBAC, impersonation, reviews.
//!
//! A request goes through it in this order: [`Authenticator::authenticate`] tells who calls,
//! [`impersonate`] whom they speak for, [`Policy::authorize`] whether they may, and, for writes to roles and
//! bindings, [`check_escalation`] whether they give away what they do not have.
//!
//! Nothing here keeps state or reads the store by itself: objects come through [`Objects`] or as values, the
//! policy is an immutable snapshot that its owner rebuilds when a role or binding changes.

mod aggregation;
mod attributes;
mod authenticator;
mod bootstrap;
mod escalation;
#[cfg(test)]
mod fixtures;
mod impersonation;
mod policy;
mod review;
mod rule;
mod token;
mod token_request;
mod user;

pub use attributes::Attributes;
pub use authenticator::{Authenticator, Objects, Secrets};
pub use bootstrap::{bootstrap_objects, reconcile};
pub use escalation::{RbacWrite, check_escalation};
pub use impersonation::impersonate;
pub use policy::{Policy, Verdict};
pub use review::{Question, answer};
pub use rule::Rule;
pub use token::AUDIENCE;
pub use user::{
    ALL_AUTHENTICATED, ALL_SERVICE_ACCOUNTS, ALL_UNAUTHENTICATED, ANONYMOUS, MASTERS, User,
    service_account_group, service_account_user,
};
