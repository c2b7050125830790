//! What faults leave of the time: the share in which a job makes progress, by the rate of faults
//! and by what a protocol costs.
//!
//! Faults come at random (exponential), one rank at a time. Each is noticed, its ranks fetch their
//! images, and work since the image is done again.
//!
//! - **All ranks return.** A wave counts when every image is stored, `C` after its begin; the next
//!   may then begin. Between two faults that are `X` apart, `floor((X - C) / P)` waves of period
//!   `P` count. So `P exp(-r (C + P)) / (1 - exp(-r P))` of `1 / r + R` seconds is progress, with
//!   `r` the rate of faults and `R` the return. Past a rate nothing is left: mpich-v-2006, figure
//!   9.
//! - **Some ranks return.** They repeat alone, `W` seconds; all others wait. Repetitions of
//!   different ranks overlap, so no rank repeats in `exp(-r W)` of the time.
//!
//! The period is the best one that the servers can keep up with.

/// What a protocol costs on these ranks. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// All ranks return after a fault of one.
    pub all_return: bool,
    /// Time without faults and images against that without a protocol: 1 or more.
    pub slowdown: f64,
    /// What an image stops its rank, with the wait for other ranks.
    pub stop_s: f64,
    /// Until the images of the ranks that return together are stored; as long until they are
    /// fetched.
    pub stored_s: f64,
    /// Until the images of all ranks are stored: the shortest period.
    pub all_stored_s: f64,
    /// Until a fault is noticed, its ranks have processes, and they know what to repeat.
    pub noticed_s: f64,
}

/// What is left under one rate of faults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// The best time between two images of a rank, in seconds.
    pub period_s: f64,
    /// Share of the time that is progress; 1 is a run without protocol and faults.
    pub efficiency: f64,
}

impl Costs {
    /// What is left with the best period, where `rate` faults come in a second.
    #[must_use]
    pub fn left(&self, rate: f64) -> Left {
        let periods = (0..400).map(|step| self.all_stored_s.max(1.0) * 1.03f64.powi(step));
        let best = periods
            .map(|period_s| Left { period_s, efficiency: self.efficiency(rate, period_s) })
            .max_by(|a, b| a.efficiency.total_cmp(&b.efficiency));
        best.unwrap_or(Left { period_s: self.all_stored_s.max(1.0), efficiency: 0.0 })
    }

    /// The share that is progress with this period.
    #[must_use]
    pub fn efficiency(&self, rate: f64, period_s: f64) -> f64 {
        let return_s = self.noticed_s + self.stored_s;
        let computing = period_s / (period_s + self.stop_s) / self.slowdown.max(1.0);
        let progress = if rate <= 0.0 {
            1.0
        } else if self.all_return {
            let waves = (-rate * (self.stored_s + period_s)).exp() / -(-rate * period_s).exp_m1();
            rate * period_s * waves / (1.0 + rate * return_s)
        } else {
            (-rate * (return_s + self.stored_s + period_s / 2.0)).exp()
        };
        computing * progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAVES: Costs = Costs {
        all_return: true,
        slowdown: 1.0,
        stop_s: 0.1,
        stored_s: 30.0,
        all_stored_s: 30.0,
        noticed_s: 1.0,
    };
    const LOGS: Costs = Costs { all_return: false, slowdown: 1.02, stored_s: 2.0, ..WAVES };

    #[test]
    fn without_faults_only_protocol_and_images_cost_something() {
        assert!((WAVES.efficiency(0.0, 100.0) - 100.0 / 100.1).abs() < 1e-12);
        assert!(LOGS.efficiency(0.0, 1e6) < 1.0 / 1.019);
        assert!(WAVES.left(0.0).period_s > 1e5);
    }

    /// Young: the best period is the square root of twice the cost over the rate, where faults are
    /// rare.
    #[test]
    fn the_best_period_follows_youngs_formula_where_faults_are_rare() {
        for rate in [1e-7, 1e-6, 1e-5] {
            let young = (2.0 * WAVES.stop_s / rate).sqrt();
            let best = WAVES.left(rate).period_s;
            assert!((0.9..1.1).contains(&(best / young.max(30.0))), "{best} {young}");
        }
    }

    #[test]
    fn more_faults_leave_less_and_logs_go_on_where_waves_do_not() {
        let mut last = [2.0, 2.0];
        for rate in [1e-6, 1e-4, 1e-3, 1e-2, 1e-1] {
            let now = [WAVES, LOGS].map(|costs| costs.left(rate).efficiency);
            assert!(now[0] < last[0] && now[1] < last[1] && now[1] > 0.0, "{now:?}");
            last = now;
        }
        assert!(WAVES.left(1e-6).efficiency > LOGS.left(1e-6).efficiency);
        assert!(LOGS.left(2e-2).efficiency > 2.0 * WAVES.left(2e-2).efficiency);
    }
}
