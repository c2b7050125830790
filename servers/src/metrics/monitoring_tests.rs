//! The files of `packaging/monitoring` name only metrics that are declared, and use them as what
//! they are.

use super::catalogue::{ALL, OF_SERVERS};
use crate::metrics::{Family, Kind};

const DASHBOARD: &str = include_str!("../../../packaging/monitoring/grafana-dashboard.json");
const RULES: &str = include_str!("../../../packaging/monitoring/prometheus-rules.yml");

/// Labels of servers on the page of their job.
const OF_A_JOB: &[&str] = &["server", "host"];

/// Labels that Prometheus adds.
const OF_PROMETHEUS: &[&str] = &["instance", "job"];

fn family(name: &str) -> Option<&'static Family> {
    ALL.iter().flat_map(|catalogue| catalogue.families).find(|family| family.name == name)
}

/// The names of metrics in a text, each with what stands before it.
fn names(text: &str) -> Vec<(&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in text.match_indices("ftmpi_") {
        if text[..at].ends_with(is_word) {
            continue;
        }
        let end = text[at..].find(|c| !is_word(c)).map_or(text.len(), |length| at + length);
        found.push((&text[..at], &text[at..end]));
    }
    found
}

/// The expressions of queries: strings of the dashboard, lines of the rules.
fn expressions() -> Vec<String> {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut expressions = Vec::new();
    collect(&dashboard, &mut expressions);
    let lines = RULES.lines().filter(|line| line.contains("ftmpi_"));
    expressions.extend(lines.map(str::to_owned));
    expressions
}

fn collect(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) if text.contains("ftmpi_") => into.push(text.clone()),
        serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
        serde_json::Value::Object(map) => map.values().for_each(|value| collect(value, into)),
        _ => {}
    }
}

#[test]
fn every_metric_of_the_dashboard_and_the_alerts_is_declared() {
    let expressions = expressions();
    let mut count = 0;
    for (before, name) in expressions.iter().flat_map(|text| names(text)) {
        let family = family(name).unwrap_or_else(|| panic!("{name} is not declared"));
        let grows = before.ends_with("rate(") || before.ends_with("increase(");
        assert!(!grows || family.kind == Kind::Counter, "{name} is no counter");
        count += 1;
    }
    assert!(count > 50, "{count} names");
}

#[test]
fn every_label_of_the_dashboard_and_the_alerts_is_there() {
    for text in expressions() {
        let names = names(&text);
        let labels = |label: &str| {
            let has =
                |name: &str| family(name).is_some_and(|family| family.labels.contains(&label));
            let of_server = |name: &str| {
                let mut families = OF_SERVERS.iter().flat_map(|(_, catalogue)| catalogue.families);
                families.any(|family| family.name == name) && OF_A_JOB.contains(&label)
            };
            OF_PROMETHEUS.contains(&label)
                || names.iter().any(|(_, name)| has(name) || of_server(name))
        };
        for list in text.split("by (").skip(1) {
            let list = list.split(')').next().unwrap_or_default();
            for label in list.split(", ") {
                assert!(labels(label), "{label} in {text}");
            }
        }
        for selector in text.split('{').skip(1) {
            let selector = selector.split('}').next().unwrap_or_default();
            for label in selector.split(',').filter_map(|part| part.split(['=', '!']).next()) {
                assert!(labels(label), "{label} in {text}");
            }
        }
    }
}

#[test]
fn every_alert_says_what_to_look_at() {
    let alerts = RULES.matches("- alert: ").count();
    assert!(alerts >= 10, "{alerts}");
    for word in ["expr: ", "severity: ", "summary: ", "description: "] {
        assert_eq!(RULES.matches(word).count(), alerts, "{word}");
    }
}
