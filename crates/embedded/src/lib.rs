//! The cluster in a box. So far it knows the schema of Kubernetes' own kinds ([`schema`]).

pub mod schema;
