//! Addresses of object stores. They hold no secrets: those come from the environment.

/// Whether this can be the address of an object store.
///
/// # Errors
/// It cannot; how it is to look.
pub fn check_address(address: &str) -> Result<(), String> {
    let rest = address.strip_prefix("s3://").or_else(|| address.strip_prefix("file://"));
    let form = "--object-store wants s3://BUCKET/PREFIX or file:///DIRECTORY";
    match rest {
        None => Err(format!("{form}, not `{address}`")),
        Some(_) if address.contains(['@', '?', '#']) => Err(format!(
            "{form}, without names, keys or settings in it: those come from the environment \
             (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL)"
        )),
        Some(path) if address.starts_with("file:") && !path.starts_with('/') => Err(form.into()),
        Some("" | "/") => Err(form.into()),
        Some(path) if address.starts_with("s3:") && path.starts_with('/') => Err(form.into()),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_no_secrets() {
        for good in ["s3://bucket", "s3://bucket/a/b", "file:///tmp/x"] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in ["", "bucket", "s3://", "s3:///x", "file://relative", "file:///", "http://x/y"] {
            assert!(check_address(bad).unwrap_err().contains("s3://BUCKET"), "{bad}");
        }
        for secret in ["s3://key:secret@bucket/x", "s3://bucket?secret=x"] {
            assert!(check_address(secret).unwrap_err().contains("environment"), "{secret}");
        }
    }
}
