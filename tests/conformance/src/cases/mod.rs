//! The cases, an area per file.

use crate::{Case, manifests};

mod access;
mod apply;
mod create;
mod custom_resources;
mod delete;
mod discovery;
mod disruption;
mod events;
mod jobs;
mod leases;
mod list;
mod namespaces;
mod network;
mod node;
mod output;
mod ownership;
mod patch;
mod pods;
mod request_options;
mod runtime;
mod update;
mod watch;
mod workloads;

/// Every case, area by area.
pub fn all() -> Vec<Case> {
    [
        create::cases(),
        update::cases(),
        list::cases(),
        watch::cases(),
        delete::cases(),
        patch::cases(),
        apply::cases(),
        request_options::cases(),
        output::cases(),
        discovery::cases(),
        custom_resources::cases(),
        access::cases(),
        events::cases(),
        leases::cases(),
        pods::cases(),
        ownership::cases(),
        namespaces::cases(),
        workloads::cases(),
        jobs::cases(),
        network::cases(),
        disruption::cases(),
        runtime::cases(),
        node::cases(),
        manifests::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
