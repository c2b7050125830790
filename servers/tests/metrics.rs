//! `--metrics` of every server: the page follows the conventions of Prometheus.

mod common;

use common::{RankConnection, Server, block_on};
use ftmpi_servers::metrics::catalogue;
use ftmpi_servers::metrics::text_format::{self, Page};
use ftmpi_transport::auth::JobKey;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap()
}

fn page(address: SocketAddr) -> Page {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let page = text_format::parse(body).unwrap();
    page.check_conventions().unwrap();
    page
}

#[test]
fn every_server_publishes_what_the_catalogue_declares() {
    let key = JobKey::generate();
    let programs = [
        (env!("CARGO_BIN_EXE_ftmpi-event-logger"), &catalogue::EVENT_LOGGER),
        (env!("CARGO_BIN_EXE_ftmpi-channel-memory"), &catalogue::CHANNEL_MEMORY),
        (env!("CARGO_BIN_EXE_ftmpi-checkpoint-server"), &catalogue::CHECKPOINT_SERVER),
        (env!("CARGO_BIN_EXE_ftmpi-checkpoint-scheduler"), &catalogue::CHECKPOINT_SCHEDULER),
    ];
    for (program, catalogue) in programs {
        let dir = tempfile::tempdir().unwrap();
        let address = free_address();
        let metrics = ["--metrics", &address.to_string()];
        let server = match program.contains("scheduler") {
            true => Server::without_dir(program, &key, &metrics),
            false => Server::start(program, dir.path(), &key, &metrics),
        };
        let page = page(address);
        for family in catalogue.families {
            // No rank is known yet, and there is no object store.
            let later = family.name.contains("_rank_") || family.name.contains("_object_store_");
            assert_eq!(page.families.contains_key(family.name), !later, "{}", family.name);
        }
        server.end();
    }
}

#[test]
fn an_event_logger_counts_events_of_each_rank() {
    let (dir, key, address) = (tempfile::tempdir().unwrap(), JobKey::generate(), free_address());
    let program = env!("CARGO_BIN_EXE_ftmpi-event-logger");
    let server = Server::start(program, dir.path(), &key, &["--metrics", &address.to_string()]);
    block_on(async {
        let mut rank = RankConnection::open(&server, 3, 2).await.unwrap();
        rank.append(1..=5).await.unwrap();
        rank.written(5).await;
        let page = page(address);
        let of_rank = [("rank", "3")];
        assert_eq!(page.value("ftmpi_event_logger_events_total", &[]), Some(5.0));
        assert_eq!(page.value("ftmpi_event_logger_rank_written_event", &of_rank), Some(5.0));
        assert_eq!(page.value("ftmpi_event_logger_rank_incarnation", &of_rank), Some(2.0));
        assert_eq!(page.value("ftmpi_event_logger_rank_connected", &of_rank), Some(1.0));
    });
    server.end();
}
