use super::*;
use blocking::Blocking;
use nonblocking::NonBlocking;

fn commands(protocol: &mut dyn Protocol) -> Vec<Command> {
    std::iter::from_fn(|| protocol.next_command()).collect()
}

fn marker(wave: u64, stage: Stage, count: u64) -> Vec<u8> {
    Marker { wave: Wave(wave), stage, count }.encode().to_vec()
}

fn ready(protocol: &dyn Protocol, image: u64, peers: &[(u32, u64)]) -> Readiness {
    let mut peers = peers.iter().map(|&(rank, count)| (Rank(rank), count));
    protocol.image_ready(ImageNo(image), &mut peers)
}

#[test]
fn a_blocking_wave_closes_flushes_and_opens_again() {
    let mut p = Coordinated::new(Blocking);
    p.on_image_due(ImageNo(1));
    p.on_image_due(ImageNo(1));
    assert_eq!(commands(&mut p), [Command::HoldSends, mark(Wave(1), Stage::Begun)]);
    assert_eq!(ready(&p, 1, &[(1, 0)]), Readiness::NotYet);
    p.on_frame(Rank(1), &marker(1, Stage::Begun, 7));
    assert_eq!(commands(&mut p), [Command::HoldFrom(Rank(1))]);
    assert_eq!(ready(&p, 1, &[(1, 6)]), Readiness::NotYet, "one message is still under way");
    assert_eq!(ready(&p, 1, &[(1, 7), (2, 0)]), Readiness::NotYet, "rank 2 has not begun");
    assert_eq!(ready(&p, 1, &[(1, 7)]), Readiness::Now);
    p.on_image_over(ImageNo(1));
    assert_eq!(commands(&mut p), [Command::Release]);
    assert_eq!(ready(&p, 1, &[]), Readiness::Never);
}

#[test]
fn a_marker_begins_the_wave_and_a_cut_is_held() {
    let mut p = Coordinated::new(NonBlocking);
    p.on_frame(Rank(2), &marker(4, Stage::Begun, 0));
    assert_eq!(commands(&mut p), [Command::KeepSent, mark(Wave(4), Stage::Begun)]);
    p.on_frame(Rank(2), &marker(4, Stage::Cut, 3));
    assert_eq!(commands(&mut p), [Command::HoldFrom(Rank(2))]);
    p.on_image_due(ImageNo(4));
    assert_eq!(ready(&p, 4, &[(2, 3)]), Readiness::Now);
    p.on_image_over(ImageNo(4));
    let over = [mark(Wave(4), Stage::Cut), Command::ForgetSent, Command::Release];
    assert_eq!(commands(&mut p), over);
    p.on_frame(Rank(2), &marker(4, Stage::Cut, 3));
    assert_eq!(commands(&mut p), [], "a marker of a wave that is past says nothing new");
}

#[test]
fn late_news_of_a_wave_that_never_came_do_not_end_the_next() {
    let mut p = Coordinated::new(Blocking);
    p.on_frame(Rank(1), &marker(3, Stage::Begun, 7));
    let began = [Command::HoldSends, mark(Wave(3), Stage::Begun), Command::HoldFrom(Rank(1))];
    assert_eq!(commands(&mut p), began);
    // Neither rank 1 nor this one was in wave 2.
    p.on_image_over(ImageNo(2));
    assert_eq!(commands(&mut p), []);
    p.on_image_due(ImageNo(3));
    assert_eq!(ready(&p, 3, &[(1, 7)]), Readiness::Now);
}

#[test]
fn an_image_that_will_not_be_taken_holds_nobody_up() {
    let mut p = Coordinated::new(Blocking);
    p.on_image_over(ImageNo(1));
    let all = [Command::HoldSends, mark(Wave(1), Stage::Begun), Command::Release];
    assert_eq!(commands(&mut p), all);
    // The news of wave 2's failure comes after the first marker of wave 3.
    p.on_image_due(ImageNo(2));
    p.on_frame(Rank(1), &marker(3, Stage::Begun, 0));
    let got = commands(&mut p);
    assert_eq!(got[2..4], [Command::Release, Command::HoldSends]);
    assert_eq!(ready(&p, 2, &[]), Readiness::Never);
    assert_eq!(ready(&p, 3, &[(1, 0), (2, 0)]), Readiness::NotYet, "rank 2 is to come");
}

#[test]
fn new_channels_are_greeted_with_where_we_stand() {
    let mut p = Coordinated::new(Blocking);
    assert_eq!(p.greeting(), None);
    p.on_image_due(ImageNo(1));
    assert_eq!(p.greeting().map(|m| (m.wave.0, m.stage)), Some((1, Stage::Begun)));
    p.on_image_over(ImageNo(1));
    assert_eq!(p.greeting().map(|m| (m.wave.0, m.stage)), Some((1, Stage::Cut)));
    p.on_return(ImageNo(1));
    assert_eq!(commands(&mut p), []);
}

#[test]
fn what_is_no_marker_is_ignored() {
    let mut p = Coordinated::new(Blocking);
    for bytes in [&[][..], &[1; 16], &[3; 17], &[0; 18]] {
        p.on_frame(Rank(1), bytes);
    }
    assert_eq!(commands(&mut p), []);
}
