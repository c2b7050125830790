//! What the dispatcher must know, from the plan.

use super::Launcher;
use crate::cli::Plan;
use crate::machine::Machine;
use ftmpi_protocols::dispatcher::{Place, Settings};
use ftmpi_protocols::scheduler;

pub(super) fn dispatcher_settings(plan: &Plan) -> Settings {
    Settings {
        hosts: plan.machines.iter().map(|machine| machine.name.clone()).collect(),
        placement: plan.placement.clone(),
        protocol: plan.protocol.name.clone(),
        traits: plan.traits,
        places: places(&plan.machines, plan.ppn, &plan.placement),
        restarts_max: plan.max_restarts,
        recovery: plan.recovery.clone(),
        clusters: plan.clusters.clone(),
        standbys: plan.standbys.clone(),
        together: plan.continued.as_ref().is_some_and(|earlier| earlier.saved.shares_memory),
        storage_patience: plan.storage_patience,
        images: plan.ckpt_interval.map(|interval| scheduler::Settings {
            interval,
            at_once_max: 2 * plan.machines.len().max(1),
            policy: plan.ckpt_policy,
            cost_limit: plan.image_cost_limit,
        }),
    }
}

/// What each host can take after a failure: as many ranks as it has slots, or had at the start. A
/// spare host without slots takes the ranks of any one host.
fn places(machines: &[Machine], ppn: Option<u32>, placement: &[u32]) -> Vec<Place> {
    let at_start = |host: usize| placement.iter().filter(|on| **on as usize == host).count() as u32;
    let slots = |(host, machine): (usize, &Machine)| match machine.slots {
        Some(0) => 0,
        slots => ppn.or(slots).unwrap_or(1).max(at_start(host)),
    };
    let all: Vec<u32> = machines.iter().enumerate().map(slots).collect();
    let most = all.iter().copied().max().unwrap_or(1);
    let place = |(machine, slots): (&Machine, u32)| Place {
        slots: if machine.spare && slots <= 1 && machine.slots.unwrap_or(0) == 0 {
            most
        } else {
            slots
        },
        most: machine.max_slots,
        spare: machine.spare,
        switch: machine.switch.clone(),
    };
    machines.iter().zip(all).map(place).collect()
}

/// What a host can take that joins a running job.
pub(super) fn place_of_new_host(machine: &Machine, ppn: Option<u32>) -> Place {
    places(std::slice::from_ref(machine), ppn, &[]).pop().unwrap_or_default()
}

impl Launcher {
    /// The dispatcher gets the detectors and recoveries that are not built in.
    pub(super) fn load_libraries(&mut self) {
        match crate::cli::libraries(&self.plan.recovery) {
            Ok(libraries) => {
                for (file, library) in libraries {
                    self.dispatcher.add_library(file, library);
                }
            }
            Err(why) => self.cannot_go_on(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse_machines;

    #[test]
    fn hosts_take_what_they_have_slots_for() {
        let machines = parse_machines(
            "a:2\nb switch=s max_slots=4\nstore:0\nspare1 spare\nspare2:1 spare\nspare3:0 spare",
        )
        .unwrap();
        let places = places(&machines, None, &[0, 0, 1, 0]);
        let slots: Vec<u32> = places.iter().map(|place| place.slots).collect();
        assert_eq!(slots, [3, 1, 0, 3, 1, 3]);
        assert_eq!((places[1].most, places[1].switch.as_deref()), (Some(4), Some("s")));
        assert!(!places[2].spare && places[3].spare && places[5].spare);
        let joins = |slots, ppn| place_of_new_host(&Machine::new("d".to_owned(), slots), ppn).slots;
        assert_eq!((joins(Some(2), None), joins(None, None), joins(None, Some(4))), (2, 1, 4));
    }
}
