//! The headers that every page carries which a browser may show: the dashboard of a job and the
//! metrics of the programs.
//!
//! Guarantees: nobody keeps a copy, no other site learns the address or shows the page in a frame,
//! and what is no page is not taken for one. The content security policy of the page holds.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The policy of a page that has neither code nor style.
pub(crate) const PLAIN_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Adds the headers to an answer of this type, with this content security policy.
pub(crate) fn add(headers: &mut HeaderMap, content_type: &'static str, policy: &str) {
    let fixed: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}
