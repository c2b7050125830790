//! Mutual challenge–response on a fresh connection: both sides prove that they hold the job's key
//! before either acts on a message of the other.
//!
//! ```text
//! caller → callee   magic, version, nonce                       44 bytes
//! callee → caller   magic, version, nonce, proof                76 bytes
//! caller → callee   length, purpose, proof over the purpose     ≤ 4 + 512 + 32 bytes
//! callee → caller   length, welcome, proof over the welcome     ≤ 4 + 4096 + 32 bytes
//! ```
//!
//! A proof is HMAC-SHA256 with the job's key over a label (its direction and step), both nonces and
//! the contents that it proves. It is compared in constant time. Labels differ, so nothing can be
//! reflected; nonces are fresh on both sides, so nothing can be replayed. What follows the
//! handshake is not encrypted: the key keeps strangers and other jobs out, it does not hide.
//!
//! Guarantees: no byte is read beyond the handshake (the raw descriptor may be handed to another
//! process). A silent, slow or garbage-sending peer costs one bounded buffer until the caller's
//! time limit and then gets an error. The first twelve bytes never change, so that two versions of
//! ftmpi recognise each other.

mod key;
mod listener;
mod local;

pub use key::{JobKey, KeyError};
pub use listener::{Authenticated, Listener};
pub use local::addresses;

use ftmpi_wire::hello::{PROTOCOL_VERSION, Purpose, Welcome};
use hmac::{Hmac, Mac};
use rand::TryRngCore;
use sha2::Sha256;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, ToSocketAddrs};

const MAGIC: [u8; 8] = *b"ftmpi\r\n\0";
const NONCE_BYTES: usize = 32;
const PROOF_BYTES: usize = 32;
const PREFIX_BYTES: usize = MAGIC.len() + 4 + NONCE_BYTES;
const PURPOSE_BYTES_MAX: usize = 512;
const WELCOME_BYTES_MAX: usize = 4096;

/// How long a handshake should be given when nothing speaks for another limit.
pub const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Why a connection could not be made, and with whom.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: {problem}")]
pub struct AuthError {
    /// Address of the other side, as far as known.
    pub peer: String,
    /// What went wrong.
    #[source]
    pub problem: Problem,
}

/// What went wrong in a handshake.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// No connection, or it broke.
    #[error("cannot talk to it: {0}")]
    Io(#[from] io::Error),
    /// The other side closed before the handshake was over.
    #[error("it hung up during the handshake (it may hold another job's key, or have died)")]
    HungUp,
    /// The time limit passed.
    #[error("no complete handshake within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The first bytes are not those of ftmpi.
    #[error("it does not speak ftmpi's protocol: another program uses this port")]
    NotFtmpi,
    /// Another version of ftmpi.
    #[error(
        "it speaks version {theirs} of ftmpi's protocol, this side version {PROTOCOL_VERSION}: \
         install the same version on all hosts"
    )]
    Version {
        /// The other side's version.
        theirs: u32,
    },
    /// The proof is wrong.
    #[error("it does not hold this job's key: it belongs to another job")]
    WrongKey,
    /// The other side proved the key, but what it sent cannot be understood.
    #[error("it sent a malformed {0}")]
    Malformed(&'static str),
    /// The callee regards this incarnation as dead.
    #[error("it regards this incarnation as dead")]
    Stale,
    /// The callee cannot serve now, and gives the reason.
    #[error("{0}")]
    Hindered(String),
    /// The callee refuses, and gives the reason.
    #[error("it refuses: {0}")]
    Refused(String),
}

impl Problem {
    /// Whether trying again later can help: nobody is there yet, or it was too slow.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Io(_) | Self::HungUp | Self::TimedOut(_) | Self::Hindered(_))
    }
}

type Result<T, E = Problem> = std::result::Result<T, E>;

/// Connects, proves, states the purpose, and waits for the callee's *yes*, all within `within`.
/// `TCP_NODELAY` is set. Not a byte after the welcome has been read.
///
/// # Errors
/// See [`Problem`]; [`Problem::Stale`] and [`Problem::Refused`] are the callee's own words.
pub async fn connect(
    address: impl ToSocketAddrs + std::fmt::Display,
    key: &JobKey,
    purpose: &Purpose,
    within: Duration,
) -> Result<TcpStream, AuthError> {
    let peer = address.to_string();
    limited(within, async {
        let addresses: Vec<_> = tokio::net::lookup_host(address).await?.collect();
        let mut stream = local::connect(&addresses).await?;
        call(&mut stream, key, purpose).await?;
        Ok(stream)
    })
    .await
    .map_err(|problem| AuthError { peer, problem })
}

/// Accepts the handshake of a caller within `within`. `TCP_NODELAY` is set. The caller waits until
/// [`Responder::answer`] is called.
///
/// # Errors
/// See [`Problem`].
pub async fn accept(
    mut stream: TcpStream,
    key: &JobKey,
    within: Duration,
) -> Result<(TcpStream, Purpose, Responder), AuthError> {
    let peer = stream.peer_addr().map_or_else(|_| "unknown peer".into(), |a| a.to_string());
    limited(within, async {
        // A Unix socket has no such option.
        let _ = stream.set_nodelay(true);
        let (purpose, responder) = answer_call(&mut stream, key).await?;
        Ok((stream, purpose, responder))
    })
    .await
    .map_err(|problem| AuthError { peer, problem })
}

/// The caller's side of the handshake on any stream, without a time limit.
///
/// # Errors
/// See [`Problem`].
pub async fn call<S>(stream: &mut S, key: &JobKey, purpose: &Purpose) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let ours = nonce();
    stream.write_all(&prefix(&ours)).await?;
    let mut answer = [0; PREFIX_BYTES + PROOF_BYTES];
    // The version first: the answer of another version may be shorter.
    read_exact(stream, &mut answer[..MAGIC.len() + 4]).await?;
    check_prefix(&answer)?;
    read_exact(stream, &mut answer[MAGIC.len() + 4..]).await?;
    let theirs: [u8; NONCE_BYTES] =
        answer[MAGIC.len() + 4..PREFIX_BYTES].try_into().expect("a nonce's length");
    let session = Session { key: key.clone(), caller: ours, callee: theirs };
    session.check(b"ftmpi callee proves", &[], &answer[PREFIX_BYTES..])?;

    let purpose = postcard::to_stdvec(purpose).map_err(|_| Problem::Malformed("purpose"))?;
    session.send(stream, b"ftmpi caller's purpose", &purpose).await?;
    let welcome = session.receive(stream, b"ftmpi callee's welcome", WELCOME_BYTES_MAX).await?;
    match decode(&welcome, "welcome")? {
        Welcome::Yes => Ok(()),
        Welcome::Stale => Err(Problem::Stale),
        Welcome::Later(why) => Err(Problem::Hindered(why)),
        Welcome::No(why) => Err(Problem::Refused(why)),
    }
}

/// The callee's side of the handshake on any stream, without a time limit.
///
/// # Errors
/// See [`Problem`].
pub async fn answer_call<S>(stream: &mut S, key: &JobKey) -> Result<(Purpose, Responder)>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut hello = [0; PREFIX_BYTES];
    read_exact(stream, &mut hello[..MAGIC.len() + 4]).await?;
    let ours = nonce();
    if let Err(problem) = check_prefix(&hello) {
        if matches!(problem, Problem::Version { .. }) {
            // So that the caller can say the same; it gets no proof.
            let _ = stream.write_all(&prefix(&ours)).await;
        }
        return Err(problem);
    }
    read_exact(stream, &mut hello[MAGIC.len() + 4..]).await?;
    let theirs = hello[MAGIC.len() + 4..].try_into().expect("a nonce's length");
    let session = Session { key: key.clone(), caller: theirs, callee: ours };
    let mut answer = prefix(&ours).to_vec();
    answer.extend_from_slice(&session.prove(b"ftmpi callee proves", &[]));
    stream.write_all(&answer).await?;
    let purpose = session.receive(stream, b"ftmpi caller's purpose", PURPOSE_BYTES_MAX).await?;
    Ok((decode(&purpose, "purpose")?, Responder { session }))
}

/// Owes an authenticated caller its answer.
#[derive(Debug)]
#[must_use = "the caller waits for an answer"]
pub struct Responder {
    session: Session,
}

impl Responder {
    /// Sends the caller the answer whether it may go on. Give the stream that [`accept`] returned.
    /// A reason that is too long is cut.
    ///
    /// # Errors
    /// The connection broke, or took no byte within [`TIME_LIMIT`].
    pub async fn answer<S>(self, stream: &mut S, welcome: Welcome) -> Result<()>
    where
        S: AsyncWrite + Unpin,
    {
        let short = |mut why: String| {
            let mut end = why.len().min(WELCOME_BYTES_MAX - 64);
            while !why.is_char_boundary(end) {
                end -= 1;
            }
            why.truncate(end);
            why
        };
        let welcome = match welcome {
            Welcome::No(why) => Welcome::No(short(why)),
            Welcome::Later(why) => Welcome::Later(short(why)),
            other => other,
        };
        let bytes = postcard::to_stdvec(&welcome).map_err(|_| Problem::Malformed("welcome"))?;
        limited(TIME_LIMIT, self.session.send(stream, b"ftmpi callee's welcome", &bytes)).await
    }
}

/// Key and nonces of one handshake.
#[derive(Debug)]
struct Session {
    key: JobKey,
    caller: [u8; NONCE_BYTES],
    callee: [u8; NONCE_BYTES],
}

impl Session {
    fn mac(&self, label: &[u8], body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.bytes()).expect("any length is good");
        // Every part but the last has a length that the label determines: no two inputs collide.
        mac.update(label);
        mac.update(&[0]);
        mac.update(&PROTOCOL_VERSION.to_le_bytes());
        mac.update(&self.caller);
        mac.update(&self.callee);
        mac.update(body);
        mac
    }

    fn prove(&self, label: &[u8], body: &[u8]) -> [u8; PROOF_BYTES] {
        self.mac(label, body).finalize().into_bytes().into()
    }

    fn check(&self, label: &[u8], body: &[u8], proof: &[u8]) -> Result<()> {
        self.mac(label, body).verify_slice(proof).map_err(|_| Problem::WrongKey)
    }

    async fn send<S>(&self, stream: &mut S, label: &[u8], body: &[u8]) -> Result<()>
    where
        S: AsyncWrite + Unpin,
    {
        let mut out = (body.len() as u32).to_le_bytes().to_vec();
        out.extend_from_slice(body);
        out.extend_from_slice(&self.prove(label, body));
        stream.write_all(&out).await?;
        stream.flush().await?;
        Ok(())
    }

    async fn receive<S>(&self, stream: &mut S, label: &'static [u8], max: usize) -> Result<Vec<u8>>
    where
        S: AsyncRead + Unpin,
    {
        let mut length = [0; 4];
        read_exact(stream, &mut length).await?;
        let length = u32::from_le_bytes(length) as usize;
        if length > max {
            return Err(Problem::Malformed("handshake (a length out of bounds)"));
        }
        let mut bytes = vec![0; length + PROOF_BYTES];
        read_exact(stream, &mut bytes).await?;
        self.check(label, &bytes[..length], &bytes[length..])?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

fn nonce() -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    rand::rngs::OsRng.try_fill_bytes(&mut nonce).expect("the kernel gives random bytes");
    nonce
}

fn prefix(nonce: &[u8; NONCE_BYTES]) -> [u8; PREFIX_BYTES] {
    let mut out = [0; PREFIX_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    out[12..].copy_from_slice(nonce);
    out
}

fn check_prefix(bytes: &[u8]) -> Result<()> {
    if bytes[..8] != MAGIC {
        return Err(Problem::NotFtmpi);
    }
    match u32::from_le_bytes(bytes[8..12].try_into().expect("4 bytes")) {
        PROTOCOL_VERSION => Ok(()),
        theirs => Err(Problem::Version { theirs }),
    }
}

fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8], what: &'static str) -> Result<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(Problem::Malformed(what)),
    }
}

async fn read_exact<S: AsyncRead + Unpin>(stream: &mut S, out: &mut [u8]) -> Result<()> {
    match stream.read_exact(out).await {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(Problem::HungUp),
        Err(e) => Err(Problem::Io(e)),
    }
}

async fn limited<T>(within: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(within, work).await.unwrap_or(Err(Problem::TimedOut(within)))
}

#[cfg(test)]
mod tests;
