//! Values of options: how each kind is read, and what a wrong one is answered with.
//!
//! Guarantee: each error says which value is wrong, what is accepted, and gives an example.

use crate::os_text;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// A value that an option does not accept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// It should be a time.
    #[error("`{0}` is not a time; write a number and a unit (ms, s, m or h), such as 30s or 500ms")]
    Time(String),
    /// The time is too long to matter.
    #[error("`{0}` is more than a hundred years; write a shorter time, such as 24h")]
    TooLong(String),
    /// The time is too short to tell a lost host from a slow one.
    #[error(
        "`{0}` is too short to tell a host that is lost from one that is slow; write 1s or more, such \
         as 2s"
    )]
    DetectTooShort(String),
    /// It should be a number.
    #[error("`{value}` is not a whole number {range}; write for example {example}")]
    Number {
        /// What was written.
        value: String,
        /// What is accepted, in words.
        range: String,
        /// A number that is accepted.
        example: u64,
    },
    /// It should be a number of bytes.
    #[error(
        "`{0}` is not a size; write a number and K, M, G or T (powers of 1024), such as 500M or 20G"
    )]
    Size(String),
    /// It should be two times.
    #[error("`{0}` is not a part of a run; write FROM,TO, such as 1.2s,1400ms")]
    Window(String),
    /// It should be a network address.
    #[error("`{0}` is not an address; write IP:PORT, such as 127.0.0.1:9100 or [::1]:9100")]
    Address(String),
    /// It should be a range of ports.
    #[error("`{0}` is not a range of ports; write the first and the last one, such as 5000-5100")]
    Ports(String),
    /// It should be the address of an object store.
    #[error(
        "`{0}` is not the address of an object store; write s3://BUCKET/PREFIX or file:///DIRECTORY"
    )]
    Store(String),
    /// The address of an object store holds more than an address.
    #[error(
        "an address without names, keys or settings is needed; write s3://BUCKET/PREFIX, and put the \
         credentials into the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, \
         AWS_ENDPOINT_URL)"
    )]
    StoreSecrets,
}

/// Silence of a host after which it is lost, unless the user says otherwise: with the restart of
/// its ranks below 8 s, and long against pauses of busy hosts.
pub const DETECT: Duration = Duration::from_secs(6);

/// The shortest such silence: the kernel has repeated what was not acknowledged twice by then.
pub const DETECT_MIN: Duration = Duration::from_secs(1);

/// No time that is given is longer: points in time can be computed with it.
const TIME_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A path of the command line, whose text is that of [`os_text`].
///
/// # Errors
/// None.
pub fn path(text: &str) -> Result<PathBuf, Infallible> {
    Ok(os_text::to_path(text))
}

/// `30s`, `500ms`, `2m`, `1h`, or a number of seconds.
///
/// # Errors
/// It is not a time, or a time of more than a hundred years.
pub fn time(text: &str) -> Result<Duration, ValueError> {
    let wrong = || ValueError::Time(text.to_owned());
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * scale)
        .ok()
        .filter(|time| *time <= TIME_MAX)
        .ok_or_else(|| ValueError::TooLong(text.to_owned()))
}

/// A time, or no limit: 0, and the -1 of other launchers.
///
/// # Errors
/// As [`time`].
pub fn time_limit(text: &str) -> Result<Duration, ValueError> {
    if text == "-1" { Ok(Duration::ZERO) } else { time(text) }
}

/// Two times, the earlier one first: `1.2s,1400ms`.
///
/// # Errors
/// It is not that.
pub fn window(text: &str) -> Result<(Duration, Duration), ValueError> {
    let wrong = || ValueError::Window(text.to_owned());
    let (from, to) = text.split_once(',').ok_or_else(wrong)?;
    let times = (time(from).map_err(|_| wrong())?, time(to).map_err(|_| wrong())?);
    if times.0 < times.1 { Ok(times) } else { Err(wrong()) }
}

/// The longest silence of a host that is not lost.
///
/// # Errors
/// As [`time`]; it is shorter than [`DETECT_MIN`].
pub fn detect(text: &str) -> Result<Duration, ValueError> {
    let given = time(text)?;
    if given < DETECT_MIN { Err(ValueError::DetectTooShort(text.to_owned())) } else { Ok(given) }
}

/// A size: `500M`, `20G`, or a number of bytes.
///
/// # Errors
/// It is not a size, or does not fit into 64 bits.
pub fn size(text: &str) -> Result<u64, ValueError> {
    let (number, shift) = match text.trim_end_matches("iB").char_indices().next_back() {
        Some((at, 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        Some((at, 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| ValueError::Size(text.to_owned()))
}

/// A network address with a port.
///
/// # Errors
/// It is not one.
pub fn address(text: &str) -> Result<SocketAddr, ValueError> {
    text.parse().map_err(|_| ValueError::Address(text.to_owned()))
}

/// A network address with a port, or a port of this host's loopback address.
///
/// # Errors
/// It is neither.
pub fn local_address(text: &str) -> Result<SocketAddr, ValueError> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => address(text),
    }
}

/// The first and the last of some ports: `5000-5100`, and `5000:5100` as MPICH's variables have it.
///
/// # Errors
/// It is no range, or an empty one.
pub fn ports(text: &str) -> Result<RangeInclusive<u16>, ValueError> {
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let both = text.split_once(['-', ':']);
    let both = both.and_then(|(first, last)| Some((port(first)?, port(last)?)));
    let range = both.filter(|(first, last)| first <= last).map(|(first, last)| first..=last);
    range.ok_or_else(|| ValueError::Ports(text.to_owned()))
}

/// The address of an object store. It holds no secrets: those come from the environment.
///
/// # Errors
/// It is not one, or holds more than an address.
pub fn store(text: &str) -> Result<String, ValueError> {
    let wrong = || Err(ValueError::Store(text.to_owned()));
    match text.strip_prefix("s3://").or_else(|| text.strip_prefix("file://")) {
        None => wrong(),
        Some(_) if text.contains(['@', '?', '#']) => Err(ValueError::StoreSecrets),
        Some(path) if text.starts_with("file:") && !path.starts_with('/') => wrong(),
        Some("" | "/") => wrong(),
        Some(path) if text.starts_with("s3:") && path.starts_with('/') => wrong(),
        Some(_) => Ok(text.to_owned()),
    }
}

/// Reads whole numbers from `least` to `most`; `example` is for the message.
pub fn number<T: TryFrom<u64>>(
    least: u64,
    most: u64,
    example: u64,
) -> impl Fn(&str) -> Result<T, ValueError> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| ValueError::Number {
            value: text.to_owned(),
            range: match (least, most) {
                // What is bounded by the type alone needs no bound in the message.
                (_, most) if most >= u64::from(u32::MAX) => format!("from {least} on"),
                _ => format!("from {least} to {most}"),
            },
            example,
        })
    }
}

/// The largest number that fits into 32 bits, as a bound of [`number`].
pub const U32_MAX: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.5s").unwrap().as_millis(), 1500);
        assert_eq!(time("50ms").unwrap().as_millis(), 50);
        assert_eq!(time("2m").unwrap().as_secs(), 120);
        for wrong in ["3 parsecs", "", "ms", "soon", "-1", "1.2.3s"] {
            let error = time(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}` is not a time")), "{error}");
        }
        let error = time("99999999999999999999h").unwrap_err();
        assert!(error.to_string().contains("hundred years"));
        assert_eq!(time_limit("-1"), Ok(Duration::ZERO));
        assert_eq!((detect("1s"), detect("6s")), (Ok(DETECT_MIN), Ok(DETECT)));
        for wrong in ["999ms", "0s", "0"] {
            assert!(detect(wrong).is_err(), "{wrong}");
        }
        let part = (Duration::from_millis(1200), Duration::from_millis(1400));
        assert_eq!(window("1.2s,1400ms"), Ok(part));
        for wrong in ["", "1s", "2s,1s", "1s,1s", "a,b", "1s,2s,3s"] {
            assert_eq!(window(wrong), Err(ValueError::Window(wrong.into())));
        }
        assert!(detect("500ms").unwrap_err().to_string().ends_with("write 1s or more, such as 2s"));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("1GiB"), size("1G"));
        assert_eq!(size("17"), Ok(17));
        for wrong in ["", "M", "1.5G", "-1", "99999999999T", "ä"] {
            assert_eq!(size(wrong), Err(ValueError::Size(wrong.into())));
        }
    }

    #[test]
    fn numbers_have_ranges() {
        let few = number::<u32>(1, 32, 2);
        assert_eq!(few("32"), Ok(32));
        for wrong in ["0", "33", "-1", "two", "", "4294967296"] {
            let error = few(wrong).unwrap_err().to_string();
            let wanted =
                format!("`{wrong}` is not a whole number from 1 to 32; write for example 2");
            assert_eq!(error, wanted);
        }
        let many = number::<u32>(1, U32_MAX, 4);
        let error = many("0").unwrap_err().to_string();
        assert_eq!(error, "`0` is not a whole number from 1 on; write for example 4");
        assert!(many("4294967296").is_err());
    }

    #[test]
    fn ports_have_a_first_and_a_last() {
        assert_eq!((ports("5000-5100"), ports("7:7")), (Ok(5000..=5100), Ok(7..=7)));
        for wrong in ["5000", "", "-", "5100-5000", "0-9", "1-65536", "a-b", "1-2-3"] {
            assert_eq!(ports(wrong), Err(ValueError::Ports(wrong.into())));
        }
    }

    #[test]
    fn object_stores_hold_no_secrets() {
        for good in ["s3://bucket", "s3://bucket/a/b", "file:///tmp/x"] {
            assert_eq!(store(good).as_deref(), Ok(good));
        }
        for bad in ["", "bucket", "s3://", "s3:///x", "file://relative", "file:///", "http://x/y"] {
            assert!(store(bad).unwrap_err().to_string().contains("s3://BUCKET"), "{bad}");
        }
        for secret in ["s3://key:secret@bucket/x", "s3://bucket?secret=x"] {
            let error = store(secret).unwrap_err().to_string();
            assert!(error.contains("environment") && !error.contains("secret="), "{secret}");
        }
    }
}
