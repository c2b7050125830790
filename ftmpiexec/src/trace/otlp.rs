//! A trace in the JSON form of OpenTelemetry's protocol (OTLP), for collectors that read files
//! (receiver `otlpjsonfile`): spans with parents, events, and links from where a message came to
//! where it was sent.
//!
//! | in the trace | in OTLP |
//! | --- | --- |
//! | the job | a root span |
//! | a host, and the launcher | a resource |
//! | a rank on a host | a span below the job's |
//! | states of a rank, calls and pauses in them, images, waves, waits for the logger | spans |
//! | deaths, lines | events of the rank's span, or of the job's |
//! | a message | a link of the span that received it |
//!
//! Guarantees: each line is a whole message of bounded size, because collectors read files line by
//! line. Identities are hexadecimal, and numbers of 64 bits are strings, as the protocol demands.

use super::{LAUNCHER, TraceEvent, Traced};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// Files whose names end so are written in this form.
pub const SUFFIX: &str = ".otlp.json";
/// Spans in a line: some 200 kB. Collectors read lines of up to a megabyte.
const SPANS_IN_LINE: usize = 400;
/// Links of a span, and events of a span, at the most. What is beyond is counted.
const LINKS_MAX: usize = 128;
const EVENTS_MAX: usize = 128;
/// `SPAN_KIND_INTERNAL`
const INTERNAL: u32 = 1;

/// Process and thread of the trace.
type Track = (u32, u32);

#[derive(Debug)]
struct Span {
    id: u64,
    parent: Option<u64>,
    name: String,
    /// The host, or the launcher.
    pid: u32,
    /// Microseconds.
    from: f64,
    to: f64,
    attributes: Value,
    events: Vec<Value>,
    links: Vec<u64>,
    dropped: (usize, usize),
}

/// Builds spans from events that come in the order of their times.
struct Builder<'a> {
    traced: &'a Traced<'a>,
    spans: Vec<Span>,
    /// The span of each rank on each host.
    ranks: BTreeMap<Track, usize>,
    /// Spans of a track that have begun, the innermost last.
    open: BTreeMap<Track, Vec<usize>>,
    /// Asynchronous spans and flows that have begun.
    begun: BTreeMap<String, usize>,
    /// Begin of all identities of spans.
    seed: u64,
}

/// Writes the lines.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    traced: &Traced<'_>,
    events: &[TraceEvent],
    out: &mut impl Write,
) -> std::io::Result<()> {
    let spans = Builder::new(traced).build(events);
    let mut of_resource: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
    for span in &spans {
        of_resource.entry(span.pid).or_default().push(span);
    }
    for (pid, spans) in of_resource {
        for part in spans.chunks(SPANS_IN_LINE) {
            let spans: Vec<Value> = part.iter().map(|span| traced.json_of(span)).collect();
            let line = json!({ "resourceSpans": [{
                "resource": { "attributes": traced.resource(pid) },
                "scopeSpans": [{
                    "scope": { "name": "ftmpiexec", "version": env!("CARGO_PKG_VERSION") },
                    "spans": spans,
                }],
            }] });
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

impl<'a> Builder<'a> {
    fn new(traced: &'a Traced<'a>) -> Self {
        // FNV-1a: spans of another run of the same job have other identities.
        let began = traced.began.as_nanos().to_le_bytes();
        let bytes = traced.job_id.bytes().chain(began);
        let seed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            traced,
            spans: Vec::new(),
            ranks: BTreeMap::new(),
            open: BTreeMap::new(),
            begun: BTreeMap::new(),
            seed: seed | 1 << 63,
        }
    }

    fn build(mut self, events: &[TraceEvent]) -> Vec<Span> {
        let end = super::microseconds(self.traced.end);
        let about = &self.traced.about;
        let attributes = json!({ "protocol": about["protocol"], "ranks": self.traced.ranks });
        self.add(None, "job".to_owned(), (LAUNCHER, (0.0, end)), attributes);
        for event in events {
            let track = (event.pid, event.tid);
            match event.ph {
                "X" => self.span(track, event),
                "b" => {
                    let parent = self.of_track(track);
                    let times = (event.ts, end.max(event.ts));
                    let name = event.name.clone();
                    let at = self.add(Some(parent), name, (event.pid, times), event.args.clone());
                    self.begun.insert(event.id.clone().unwrap_or_default(), at);
                }
                "e" => {
                    let id = event.id.as_deref().unwrap_or_default();
                    if let Some(at) = self.begun.remove(id) {
                        self.spans[at].to = event.ts;
                    }
                }
                "s" => {
                    let at = self.innermost(track, event.ts);
                    self.begun.insert(event.id.clone().unwrap_or_default(), at);
                }
                "f" => {
                    let id = event.id.as_deref().unwrap_or_default();
                    if let Some(sender) = self.begun.remove(id) {
                        let at = self.innermost(track, event.ts);
                        self.link(at, sender);
                    }
                }
                "i" if event.cat != "event" => self.event(track, event),
                _ => {}
            }
        }
        self.spans
    }

    fn add(
        &mut self,
        parent: Option<usize>,
        name: String,
        (pid, (from, to)): (u32, (f64, f64)),
        attributes: Value,
    ) -> usize {
        let at = self.spans.len();
        let (events, links, dropped) = (Vec::new(), Vec::new(), (0, 0));
        let parent = parent.map(|parent| self.spans[parent].id);
        let id = self.seed.wrapping_add(at as u64);
        self.spans.push(Span {
            id,
            parent,
            name,
            pid,
            from,
            to,
            attributes,
            events,
            links,
            dropped,
        });
        at
    }

    /// The span of a rank on a host, or the job's. Further threads belong to their rank.
    fn of_track(&mut self, (pid, tid): Track) -> usize {
        if pid == LAUNCHER {
            return 0;
        }
        let track = (pid, tid % super::LANE);
        if let Some(at) = self.ranks.get(&track) {
            return *at;
        }
        let name = format!("rank {}", track.1);
        // Its times are those of its states.
        let times = (f64::MAX, 0.0);
        let at = self.add(Some(0), name, (pid, times), json!({ "rank": track.1 }));
        self.ranks.insert(track, at);
        at
    }

    fn span(&mut self, track: Track, event: &TraceEvent) {
        let to = event.ts + event.dur.unwrap_or(0.0);
        let of_rank = self.of_track(track);
        if track.0 != LAUNCHER {
            let span = &mut self.spans[of_rank];
            (span.from, span.to) = (span.from.min(event.ts), span.to.max(to));
        }
        let parent = self.innermost(track, event.ts);
        let (name, args) = (event.name.clone(), event.args.clone());
        let at = self.add(Some(parent), name, (track.0, (event.ts, to)), args);
        self.open.entry(track).or_default().push(at);
    }

    /// The innermost span of a track at this moment, which is no earlier than the last one.
    fn innermost(&mut self, track: Track, at: f64) -> usize {
        let spans = &self.spans;
        if let Some(open) = self.open.get_mut(&track) {
            open.retain(|span| spans[*span].to > at);
            if let Some(innermost) = open.last() {
                return *innermost;
            }
        }
        self.of_track(track)
    }

    fn link(&mut self, at: usize, to: usize) {
        let id = self.spans[to].id;
        let span = &mut self.spans[at];
        if span.links.len() < LINKS_MAX {
            span.links.push(id);
        } else {
            span.dropped.0 += 1;
        }
    }

    fn event(&mut self, track: Track, event: &TraceEvent) {
        let at = self.of_track(track);
        let made = json!({
            "timeUnixNano": self.traced.nanoseconds(event.ts),
            "name": if event.name.is_empty() { event.cat } else { event.name.as_str() },
            "attributes": attributes(&event.args),
        });
        let span = &mut self.spans[at];
        if span.events.len() < EVENTS_MAX {
            span.events.push(made);
        } else {
            span.dropped.1 += 1;
        }
    }
}

impl Traced<'_> {
    fn nanoseconds(&self, ts: f64) -> String {
        (self.began.as_nanos() + (ts.max(0.0) * 1e3).round() as u128).to_string()
    }

    /// 16 bytes in hexadecimal.
    fn trace_id(&self) -> String {
        let digits: String = self.job_id.chars().filter(char::is_ascii_hexdigit).take(32).collect();
        format!("{:1>32}", digits.to_ascii_lowercase())
    }

    fn resource(&self, pid: u32) -> Value {
        let host = pid.checked_sub(1).and_then(|host| self.hosts.get(host as usize));
        attributes_named(&[
            ("service.name", json!("ftmpi")),
            ("service.instance.id", json!(self.job_id)),
            ("host.name", host.map_or(Value::Null, |host| json!(host))),
        ])
    }

    fn json_of(&self, span: &Span) -> Value {
        let trace = self.trace_id();
        let of_links = |id: &u64| json!({ "traceId": trace, "spanId": hex(*id) });
        let from = if span.from > span.to { span.to } else { span.from };
        json!({
            "traceId": trace,
            "spanId": hex(span.id),
            "parentSpanId": span.parent.map_or(String::new(), hex),
            "name": span.name,
            "kind": INTERNAL,
            "startTimeUnixNano": self.nanoseconds(from),
            "endTimeUnixNano": self.nanoseconds(span.to),
            "attributes": attributes(&span.attributes),
            "events": span.events,
            "links": span.links.iter().map(of_links).collect::<Vec<Value>>(),
            "droppedLinksCount": span.dropped.0,
            "droppedEventsCount": span.dropped.1,
        })
    }
}

fn hex(id: u64) -> String {
    format!("{id:016x}")
}

/// What stands in `args`, with names of our own.
fn attributes(args: &Value) -> Value {
    let Some(args) = args.as_object() else { return json!([]) };
    let named: Vec<(String, Value)> =
        args.iter().map(|(key, value)| (format!("ftmpi.{key}"), value.clone())).collect();
    let named: Vec<(&str, Value)> =
        named.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    attributes_named(&named)
}

fn attributes_named(named: &[(&str, Value)]) -> Value {
    let of_value = |value: &Value| match value {
        Value::String(text) => Some(json!({ "stringValue": text })),
        Value::Bool(is) => Some(json!({ "boolValue": is })),
        Value::Number(number) if number.is_f64() => Some(json!({ "doubleValue": number })),
        Value::Number(number) => Some(json!({ "intValue": number.to_string() })),
        _ => None,
    };
    let of_key = |(key, value): &(&str, Value)| {
        of_value(value).map(|value| json!({ "key": key, "value": value }))
    };
    named.iter().filter_map(of_key).collect()
}
