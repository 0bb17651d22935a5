//! Manifests of our own kinds: those that must be accepted and those that must be refused.
