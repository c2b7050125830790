//! What one exchange of messages cost.

/// What was counted. A step, a message and a rank are averages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Time of a step, in seconds.
    pub step_s: f64,
    /// The same against no protocol.
    pub slowdown: f64,
    /// Bytes before a message.
    pub piggyback_bytes: f64,
    /// What a message waited for determinants, in microseconds.
    pub gate_us: f64,
    /// Determinants of a rank in a step that reach a logger.
    pub events_per_step: f64,
    /// Bytes that the logger sends a rank in a step.
    pub clocks_per_step: f64,
    /// Events of others that a rank holds at the end.
    pub held_events: f64,
    /// Payload that a rank logs in a step.
    pub logged_per_step: f64,
    /// From the order of a wave until all may take their images, in milliseconds.
    pub wave_ms: f64,
    /// Until a new incarnation knows what to repeat, in milliseconds.
    pub events_ms: f64,
    /// Bytes that this moved.
    pub events_bytes: f64,
    /// Events that the new incarnation receives, and that the old one had made.
    pub recovered: f64,
    /// Those.
    pub made: f64,
}

impl Measured {
    /// Both, number by number.
    pub(super) fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            step_s: f(self.step_s, other.step_s),
            slowdown: f(self.slowdown, other.slowdown),
            piggyback_bytes: f(self.piggyback_bytes, other.piggyback_bytes),
            gate_us: f(self.gate_us, other.gate_us),
            events_per_step: f(self.events_per_step, other.events_per_step),
            clocks_per_step: f(self.clocks_per_step, other.clocks_per_step),
            held_events: f(self.held_events, other.held_events),
            logged_per_step: f(self.logged_per_step, other.logged_per_step),
            wave_ms: f(self.wave_ms, other.wave_ms),
            events_ms: f(self.events_ms, other.events_ms),
            events_bytes: f(self.events_bytes, other.events_bytes),
            recovered: f(self.recovered, other.recovered),
            made: f(self.made, other.made),
        }
    }
}
