//! The machines recover the events that were logged. The costs have the shapes that the papers
//! found (event-logger-2005 §V-D: the logger takes most of the piggyback away).

use super::*;
use std::collections::BTreeMap;

fn model() -> Model {
    Model { steps: 6, cluster: 4, ..Model::default() }
}

#[test]
fn a_new_incarnation_learns_all_that_the_logger_has() {
    for variant in Variant::for_scale().filter(|c| !c.is_coordinated() && !c.has_memories()) {
        let m = exchange::run(Some(variant), 16, &model());
        assert!(m.made > 0.0 && m.events_ms > 0.0, "{variant:?}: {m:?}");
        if variant.has_logger() {
            assert_eq!(m.recovered, m.made, "{variant:?}");
        } else {
            // No rank has heard what came after the last message, and no rank depends on it.
            assert!(m.recovered >= m.made - 2.0 && m.recovered <= m.made, "{variant:?}: {m:?}");
        }
    }
}

#[test]
fn costs_are_where_the_protocols_have_them() {
    let at = |variant| exchange::run(Some(variant), 16, &model());
    let by: BTreeMap<String, Measured> =
        Variant::for_scale().map(|variant| (format!("{variant:?}"), at(variant))).collect();
    let piggyback = |name: &str| by[name].piggyback_bytes;
    for (with, without) in
        [("Vcausal", "VcausalAlone"), ("Manetho", "ManethoAlone"), ("Logon", "LogonAlone")]
    {
        assert!(piggyback(with) * 2.0 < piggyback(without), "{with}: {by:#?}");
        assert!(by[with].events_bytes > 0.0);
    }
    assert_eq!(piggyback("Pessimistic"), 0.0);
    assert!(by["Pessimistic"].gate_us > 0.0 && by["Vcausal"].gate_us == 0.0, "{by:#?}");
    assert!(by["Blocking"].wave_ms > 0.0 && by["Blocking"].logged_per_step == 0.0);
    assert!(by["Hierarchical"].wave_ms < by["Blocking"].wave_ms);
}

#[test]
fn a_power_law_is_continued() {
    let of = |ranks: f64| Measured { events_bytes: 3.0 * ranks * ranks, ..Measured::default() };
    let next = continued(&[(16, of(16.0)), (64, of(64.0))], 1024);
    assert!((next.events_bytes / of(1024.0).events_bytes - 1.0).abs() < 1e-9);
}
