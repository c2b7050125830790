//! What the dispatcher must know, from the plan.

use crate::cli::Plan;
use crate::tuning::SAME_DEATH_MAX;
use ftmpi_protocols::dispatcher::Settings;
use ftmpi_protocols::scheduler;

pub(super) fn dispatcher_settings(plan: &Plan) -> Settings {
    Settings {
        hosts: plan.machines.iter().map(|machine| machine.name.clone()).collect(),
        placement: plan.placement.clone(),
        protocol: plan.protocol.name.clone(),
        traits: plan.traits,
        restarts_max: plan.max_restarts,
        same_death_max: SAME_DEATH_MAX,
        clusters: plan.clusters.clone(),
        together: plan.continued.as_ref().is_some_and(|earlier| earlier.saved.shares_memory),
        storage_patience: plan.storage_patience,
        images: plan.ckpt_interval.map(|interval| scheduler::Settings {
            interval,
            at_once_max: 2 * plan.machines.len().max(1),
            policy: plan.ckpt_policy,
            crowded: is_crowded(plan),
        }),
    }
}

/// Whether the ranks take all processors of this machine. Of other hosts nothing is known yet: they
/// count as having an idle one.
fn is_crowded(plan: &Plan) -> bool {
    let own = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let here = |host: &u32| !plan.is_remote(&plan.machines[*host as usize].name);
    plan.placement.iter().filter(|host| here(host)).count() >= own
}
