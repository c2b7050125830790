//! Metrics of a server or of a job, in the text format of Prometheus, over HTTP.
//!
//! | module | what |
//! | --- | --- |
//! | [`catalogue`] | every metric of every program: name, type, unit, help text, labels |
//! | `family` | what a declaration consists of |
//! | `page` | the text of one answer |
//! | `http` | the listener: `/metrics`, and `/`, which links to it |
//! | [`text_format`] | reads the text format and checks its conventions, for tests |
//!
//! Guarantees: nothing listens unless the user names an address. A metric is on the page only if
//! [`catalogue`] declares it. The page is read-only and holds no secrets: no keys, no arguments.

pub mod catalogue;
mod family;
mod http;
#[cfg(test)]
mod monitoring_tests;
mod page;
pub mod text_format;

pub use family::{Catalogue, Family, Kind, Source, Unit};
pub use http::{MetricsError, StateRequest, bind, listen, serve};
pub use page::render;
