//! The clock of the program, which never runs backwards.

/// What the program has seen of the clock, in seconds.
#[derive(Debug)]
pub(crate) struct Clock {
    last: f64,
    /// Seconds that the program's clock is ahead of the link's.
    ahead: f64,
}

impl Clock {
    pub const fn new() -> Self {
        Self { last: f64::NEG_INFINITY, ahead: 0.0 }
    }

    /// The value that the program saw last.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// The program sees this value.
    pub fn shown(&mut self, value: f64) {
        self.last = value;
    }

    /// The program's time where the link's clock says `link_s`. It moves on from what the program
    /// has seen, also where the link's clock is behind (another host, or a continued job).
    pub fn now(&mut self, link_s: f64) -> f64 {
        let now = link_s + self.ahead;
        if now < self.last {
            self.ahead += self.last - now;
            return self.last;
        }
        now
    }
}
