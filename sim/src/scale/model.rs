//! The network, the servers and the program that `ftmpi-sim scale` assumes. Every number is printed
//! with the results.

use std::fmt;

/// Times in nanoseconds, bandwidths in bytes per second.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// From the end of sending to the begin of receiving.
    pub latency_ns: u64,
    /// What a frame costs its receiver in addition to its bytes.
    pub frame_ns: u64,
    /// Of each rank's link, and of each server's.
    pub bandwidth: f64,
    /// Computing between two exchanges; differs by a tenth from rank to rank and step to step.
    pub compute_ns: u64,
    /// Payload for each neighbour of the halo.
    pub payload: u64,
    /// Steps of the program that are run.
    pub steps: u32,
    /// Determinants that one event logger stores in a second.
    pub logger_rate: f64,
    /// Ranks that one event logger serves, and as many one checkpoint server.
    pub per_server: u32,
    /// Ranks of a cluster of `hierarchical`.
    pub cluster: u32,
    /// Bytes of an image.
    pub image: f64,
    /// From one image of a rank to the next.
    pub image_interval_s: f64,
    /// Until a fault is noticed and its ranks have processes again.
    pub detect_s: f64,
    /// What a rank stands still for an image.
    pub pause_s: f64,
}

impl Default for Model {
    /// 10 Gbit/s Ethernet, an image of 1 GiB every ten minutes.
    fn default() -> Self {
        Self {
            latency_ns: 20_000,
            frame_ns: 1000,
            bandwidth: 1.25e9,
            compute_ns: 1_000_000,
            payload: 8192,
            steps: 12,
            logger_rate: 1e6,
            per_server: 256,
            cluster: 16,
            image: f64::from(1 << 30),
            image_interval_s: 600.0,
            detect_s: 1.0,
            pause_s: 0.05,
        }
    }
}

impl Model {
    /// Until `returning` ranks of `ranks` have their images: each over its own link, and all of a
    /// server's ranks over the server's.
    #[must_use]
    pub fn images_s(&self, ranks: u32, returning: u32) -> f64 {
        let servers = ranks.div_ceil(self.per_server);
        let at_one = returning.div_ceil(servers).max(1);
        f64::from(at_one) * self.image / self.bandwidth
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "latency {} us, {} us for a frame, links {} GB/s, {} steps of {} ms with {} B for each neighbour of a cube and an \
             allreduce of 8 B, all matches recorded; one event logger ({} events/s) and one checkpoint server \
             for {} ranks; clusters of {}; images of {:.3} GiB every {} s; a fault is noticed in {} s, an image stops \
             its rank for {} s",
            self.latency_ns as f64 / 1e3,
            self.frame_ns as f64 / 1e3,
            self.bandwidth / 1e9,
            self.steps,
            self.compute_ns as f64 / 1e6,
            self.payload,
            self.logger_rate,
            self.per_server,
            self.cluster,
            self.image / f64::from(1 << 30),
            self.image_interval_s,
            self.detect_s,
            self.pause_s,
        )
    }
}
