use super::*;
use ftmpi_wire::{Incarnation, Rank};
use proptest::prelude::*;
use tokio::net::TcpListener;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn purpose() -> Purpose {
    Purpose::Events { rank: Rank(7), incarnation: Incarnation(2) }
}

/// One handshake over a pipe, with these keys and this answer.
async fn handshake(
    caller: JobKey,
    callee: JobKey,
    welcome: Welcome,
) -> (Result<()>, Result<Purpose>) {
    let (mut a, mut b) = tokio::io::duplex(16);
    let answering = async move {
        let (purpose, responder) = answer_call(&mut b, &callee).await?;
        responder.answer(&mut b, welcome).await?;
        // What the callee sends next must still be in the stream.
        b.write_all(b"after").await?;
        Ok(purpose)
    };
    let calling = async move {
        call(&mut a, &caller, &purpose()).await?;
        let mut rest = Vec::new();
        a.read_to_end(&mut rest).await?;
        assert_eq!(rest, b"after");
        Ok(())
    };
    tokio::join!(calling, answering)
}

#[test]
fn who_holds_the_key_is_let_in_and_no_byte_too_many_is_read() {
    let key = JobKey::generate();
    let (called, answered) = block_on(handshake(key.clone(), key, Welcome::Yes));
    called.unwrap();
    assert_eq!(answered.unwrap(), purpose());
}

#[test]
fn another_key_is_noticed_by_the_caller_and_nothing_is_sent() {
    let (called, answered) =
        block_on(handshake(JobKey::generate(), JobKey::generate(), Welcome::Yes));
    assert!(matches!(called, Err(Problem::WrongKey)), "{called:?}");
    assert!(matches!(answered, Err(Problem::HungUp)), "{answered:?}");
}

#[test]
fn the_callees_refusals_arrive_as_they_were_meant() {
    let key = JobKey::generate();
    let (called, _) = block_on(handshake(key.clone(), key.clone(), Welcome::Stale));
    assert!(matches!(called, Err(Problem::Stale)), "{called:?}");
    let why = "ü".repeat(10_000);
    let (called, _) = block_on(handshake(key.clone(), key, Welcome::No(why)));
    assert!(matches!(called, Err(Problem::Refused(text)) if text.starts_with("üü")));
}

#[test]
fn a_caller_who_cannot_prove_is_refused() {
    block_on(async {
        let (mut a, mut b) = tokio::io::duplex(4096);
        let key = JobKey::generate();
        let caller = async {
            a.write_all(&prefix(&nonce())).await.unwrap();
            let mut answer = [0; PREFIX_BYTES + PROOF_BYTES];
            a.read_exact(&mut answer).await.unwrap();
            // Reflects the callee's own proof.
            let body = postcard::to_stdvec(&purpose()).unwrap();
            a.write_all(&(body.len() as u32).to_le_bytes()).await.unwrap();
            a.write_all(&body).await.unwrap();
            a.write_all(&answer[PREFIX_BYTES..]).await.unwrap();
        };
        let ((), answered) = tokio::join!(caller, answer_call(&mut b, &key));
        assert!(matches!(answered, Err(Problem::WrongKey)), "{answered:?}");
    });
}

#[test]
fn another_version_is_named_on_both_sides() {
    block_on(async {
        let (mut a, mut b) = tokio::io::duplex(4096);
        let caller = async {
            let mut hello = prefix(&nonce());
            hello[8..12].copy_from_slice(&99u32.to_le_bytes());
            a.write_all(&hello).await.unwrap();
            let mut answer = [0; 12];
            a.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer[8..], PROTOCOL_VERSION.to_le_bytes());
        };
        let key = JobKey::generate();
        let ((), answered) = tokio::join!(caller, answer_call(&mut b, &key));
        assert!(matches!(answered, Err(Problem::Version { theirs: 99 })), "{answered:?}");
    });
}

#[test]
fn what_does_not_speak_our_protocol_is_named_and_silence_times_out() {
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let key = JobKey::generate();
        let other = async {
            let (mut web, _) = listener.accept().await.unwrap();
            web.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            let (_silent, _) = listener.accept().await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        };
        let calls = async {
            let error = connect(address, &key, &purpose(), TIME_LIMIT).await.unwrap_err();
            assert!(matches!(error.problem, Problem::NotFtmpi), "{error}");
            let short = Duration::from_millis(50);
            let error = connect(address, &key, &purpose(), short).await.unwrap_err();
            assert!(matches!(error.problem, Problem::TimedOut(_)), "{error}");
        };
        tokio::join!(other, calls);
    });
}

#[test]
fn a_flood_of_silent_and_garbage_callers_does_not_keep_the_right_one_out() {
    block_on(async {
        let key = JobKey::generate();
        let mut listener = Listener::bind("127.0.0.1:0", key.clone()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async {
            loop {
                if let Ok(mut caller) = listener.next().await {
                    caller.responder.answer(&mut caller.stream, Welcome::Yes).await.unwrap();
                    return caller.purpose;
                }
            }
        };
        let client = async {
            let mut scanners = Vec::new();
            for n in 0..300 {
                let mut scanner = TcpStream::connect(address).await.unwrap();
                if n % 2 == 0 {
                    scanner.write_all(&[n as u8; 20]).await.unwrap();
                }
                scanners.push(scanner);
            }
            let stream = connect(address, &key, &purpose(), TIME_LIMIT).await.unwrap();
            assert!(stream.nodelay().unwrap());
        };
        let (got, ()) = tokio::join!(server, client);
        assert_eq!(got, purpose());
    });
}

proptest! {
    #[test]
    fn hostile_bytes_are_an_error_for_callee_and_caller(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        right_start in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if right_start {
            let mut start = prefix(&nonce()).to_vec();
            start.append(&mut bytes);
            bytes = start;
        }
        block_on(async {
            let (mut a, mut b) = tokio::io::duplex(4096);
            a.write_all(&bytes).await.unwrap();
            a.shutdown().await.unwrap();
            assert!(answer_call(&mut b, &JobKey::generate()).await.is_err());
            let (mut a, mut b) = tokio::io::duplex(4096);
            a.write_all(&bytes).await.unwrap();
            a.shutdown().await.unwrap();
            assert!(call(&mut b, &JobKey::generate(), &purpose()).await.is_err());
        });
    }
}

#[tokio::test]
async fn ports_of_a_range_are_taken_one_after_the_other_until_none_is_free() {
    // Two neighbours that are free now: others may take one of them meanwhile.
    for _ in 0..20 {
        let ip = std::net::Ipv4Addr::LOCALHOST.into();
        let probe = Listener::bind((ip, 0), JobKey::generate()).await.unwrap();
        let first = probe.local_addr().unwrap().port().min(u16::MAX - 1);
        drop(probe);
        let range = first..=first + 1;
        let bind = || Listener::bind_within(ip, Some(&range), JobKey::generate());
        let (Ok(one), Ok(two)) = (bind().await, bind().await) else { continue };
        let bound = [one, two];
        let mut taken = bound.each_ref().map(|bound| bound.local_addr().unwrap().port());
        taken.sort_unstable();
        assert_eq!(taken, [first, first + 1]);
        let error = bind().await.unwrap_err().to_string();
        let named = format!("no port from {first} to {} is free", first + 1);
        assert!(error.contains(&named) && error.contains("--port-range"), "{error}");
        let [one, _two] = bound;
        drop(one);
        let again = bind().await.unwrap().local_addr().unwrap().port();
        assert!(range.contains(&again));
        return;
    }
    panic!("no two free ports beside each other");
}
