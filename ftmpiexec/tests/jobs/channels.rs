//! Ranks that join one another, and jobs inside of jobs.

use super::{binary, command, expect, have_servers, out, own, run, script, sorted_lines};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub fn barriers_and_channels(directory: &Path) {
    let output = run(directory, "-n 4 --protocol none RANK join");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "1 ok", "2 ok", "3 ok"]);
    let output = run(directory, "-n 4 --protocol none --transport tcp RANK join");
    expect(&output, 0, "");
    assert_eq!(out(&output).lines().count(), 4);
    let output = run(directory, "-n 3 --protocol none RANK exit 5");
    expect(&output, 5, "");
}

pub fn channels_over_sockets_between_hosts(directory: &Path) {
    let output = run(directory, "-launcher fork -hosts a,b,c -n 5 --protocol none RANK join");
    expect(&output, 0, "");
    assert_eq!(out(&output).lines().count(), 5);
}

pub fn a_rank_runs_one_program(directory: &Path) {
    let own = own();
    script(directory, "twice.sh", &format!("{own} join && {own} join"));
    for protocol in ["none", "pessimistic"] {
        if protocol != "none" && !have_servers() {
            continue;
        }
        let begin = Instant::now();
        let output = run(directory, &format!("-n 2 --protocol {protocol} ./twice.sh"));
        expect(&output, 1, "has already started an MPI program");
        assert!(begin.elapsed() < Duration::from_secs(10), "no rank waits");
    }
    script(directory, "leaves.sh", &format!("{own} leave; {own} join"));
    let output = run(directory, "-n 2 --protocol none ./leaves.sh");
    expect(&output, 1, "has already started an MPI program");
    let output = run(directory, "-n 1 --protocol none ./twice.sh");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "0 ok"], "a rank that is alone may run two");
}

pub fn a_rank_starts_a_job(directory: &Path) {
    let (own, ftmpiexec) = (own(), binary());
    let inner = format!("{} --protocol none -n 3 {own} join", ftmpiexec.display());
    script(directory, "nested.sh", &format!("[ $PMI_RANK = 1 ] || {inner}\nexec {own} join"));
    let output = run(directory, "-n 2 --protocol none ./nested.sh");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "0 ok", "1 ok", "1 ok", "2 ok"]);
}

pub fn strangers_at_the_ports(directory: &Path) {
    let child = command(directory, "-n 2 --protocol none --transport tcp RANK long")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for port in listening_ports() {
        if let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) {
            let _ = stream.write_all(b"GET / HTTP/1.0\r\n\r\n");
        }
        drop(std::net::TcpStream::connect(("127.0.0.1", port)));
    }
    let output = child.wait_with_output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(sorted_lines(&output), ["0 ok incarnation 0", "1 ok incarnation 0"]);
}

/// Ports above 1024 on which anybody listens on the loopback interface.
fn listening_ports() -> Vec<u16> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (local, _, state) = (words.next()?, words.next()?, words.next()?);
            let (address, port) = local.split_once(':')?;
            (state == "0A" && address == "0100007F").then(|| u16::from_str_radix(port, 16).ok())?
        })
        .filter(|port| *port > 1024)
        .collect()
}
