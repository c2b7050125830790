//! Pages that people look at in a browser: the page of `--report`, as one file, and the page of
//! `--dashboard`.
//!
//! Guarantees: the page of a report makes no request: neither its markup nor its code names another
//! file, and its content security policy allows none. The page of the dashboard asks nobody but the
//! server that it came from. Only the style and the code that this module put into the
//! page run, which the policy names by their hashes. Text of a job (names, messages, paths) is
//! data: it is embedded so that it cannot end its element, and code shows it as text, never as
//! markup.

use serde_json::Value;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
const COMMON: &str = include_str!("common.js");
const REPORT: &str = include_str!("report.html");
const REPORT_CODE: &str = include_str!("report.js");
const DASHBOARD: &str = include_str!("dashboard.html");
const DASHBOARD_CODE: &str = include_str!("dashboard.js");

/// The page of a report.
#[must_use]
pub fn report(data: &Value) -> String {
    let code = format!("{COMMON}{REPORT_CODE}");
    let policy = policy(&code);
    fill(
        REPORT,
        &[("policy", &policy), ("style", STYLE), ("data", &embedded(data)), ("code", &code)],
    )
}

/// The page of the dashboard, and its content security policy.
#[must_use]
pub fn dashboard() -> (String, String) {
    let code = format!("{COMMON}{DASHBOARD_CODE}");
    let page = fill(DASHBOARD, &[("style", STYLE), ("code", &code)]);
    (page, format!("{}; connect-src 'self'; frame-ancestors 'none'", policy(&code)))
}

/// A policy that allows this code, the style of the pages, and no request.
fn policy(code: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(code),
        hash(STYLE)
    )
}

/// Puts texts into a template, each once. Texts are not looked at for places themselves.
fn fill(template: &str, texts: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(
        template.len() + texts.iter().map(|(_, text)| text.len()).sum::<usize>(),
    );
    let mut rest = template;
    for (name, text) in texts {
        let place = format!("{{{{{name}}}}}");
        let (before, after) = rest.split_once(&place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// JSON that can stand in an element of a page: nothing in it begins or ends an element.
fn embedded(data: &Value) -> String {
    let text = data.to_string();
    let mut safe = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            // They stand only in strings, where an escape means the same.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A hash as content security policies have it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let byte = |at: usize| u32::from(piece.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(match digit <= piece.len() {
                true => DIGITS[(bits >> (18 - 6 * digit)) as usize & 63] as char,
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let encoded = ["", "f", "fo", "foo", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]);
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn text_of_a_job_cannot_leave_its_element_and_stays_the_same() {
        let data = json!({ "cause": "</script><script>alert(1)</script><!-- & \u{2028} {{code}}" });
        let page = report(&data);
        let begin = page.find("<script type=\"application/json\"").unwrap();
        let begin = begin + page[begin..].find('>').unwrap() + 1;
        let end = begin + page[begin..].find('<').unwrap();
        assert!(page[end..].starts_with("</script>"));
        assert_eq!(serde_json::from_str::<Value>(&page[begin..end]).unwrap(), data);
        assert_eq!(page.matches("<script").count(), 2, "the data and the code");
        assert!(!page.contains("alert(1)</script>"));
    }

    #[test]
    fn pages_name_no_other_file_and_their_policies_name_their_code() {
        let (live, policy) = dashboard();
        assert!(policy.contains("connect-src 'self'") && !policy.contains("unsafe"));
        check(&report(&json!({})), None);
        check(&live, Some(&policy));
    }

    /// `policy`: of a page that has it in a header.
    fn check(page: &str, policy: Option<&str>) {
        let first = "new XMLHttpRequest();\n  request.open(\"GET\", \"/status\", false)";
        let own = ["href=\"/status\"", "href=\"/metrics\"", first];
        let links = own.iter().fold(page.to_owned(), |page, link| page.replace(link, ""));
        let links = links.replace("http://www.w3.org/2000/svg", "").replace("href=\"data:,\"", "");
        for word in [
            "src=",
            "href=\"h",
            "href=\"/",
            "@import",
            "url(",
            "http:",
            "https:",
            "fetch(",
            "XMLHttpRequest",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "onclick=",
            "style=",
        ] {
            assert!(!links.contains(word), "{word}");
        }
        let code = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
        assert!(
            policy.unwrap_or(page).contains(&hash(code)),
            "the policy allows the code of the page"
        );
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        assert!(policy.unwrap_or(page).contains(&hash(style)), "the policy allows its style");
        assert!(!page.contains("{{"), "every place is filled");
    }
}
