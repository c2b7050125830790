//! What the kernel keeps for a process comes back: each item is set up, changed at each step, and
//! checked.

mod driver;

use driver::torture::{items_come_back, items_come_back_where};

#[test]
fn files_come_back() {
    let items = [
        ("files", 15_000),
        ("base", 9_000),
        ("deleted", 15_000),
        ("shared", 30_000),
        ("pipes", 2_000),
        ("mapped", 12_000),
    ];
    items_come_back("torture_files.c", None, &items);
}

#[test]
fn state_of_the_process_comes_back() {
    let items = [
        ("signals", 10_000),
        ("timers", 6_000),
        ("large", 30_000),
        ("stack", 4_000),
        ("registers", 500),
        ("limits", 30_000),
        ("attributes", 40_000),
    ];
    items_come_back("torture_process.c", None, &items);
}

#[test]
fn objects_of_the_kernel_come_back() {
    let items = [
        ("epoll", 4_000),
        ("pairs", 6_000),
        ("sockets", 1_500),
        ("times", 6_000),
        ("inotify", 4_000),
        ("segments", 4_000),
        ("objects", 6_000),
    ];
    items_come_back("torture_objects.c", None, &items);
}

#[test]
fn children_that_have_ended_come_back() {
    let items = [("children", 800), ("any", 800), ("left", 400), ("cores", 800)];
    items_come_back("torture_children.c", None, &items);
}

/// Many containers forbid `kcmp`, the call that compares descriptors.
#[test]
fn duplicates_are_found_without_kcmp() {
    let items = [("files", 15_000), ("deleted", 15_000), ("pipes", 2_000)];
    items_come_back_where("torture_files.c", None, &items, true);
    items_come_back_where("torture_objects.c", None, &[("pairs", 3_000)], true);
}

#[test]
fn what_the_kernel_keeps_comes_back() {
    items_come_back("owned.c", None, &[("owners", 3_000), ("advice", 12_000)]);
}

#[test]
fn odd_programs_come_back() {
    let items = [
        ("alternate", 30_000),
        ("coroutines", 250_000),
        ("grown", 800),
        ("made", 100_000),
        ("many", 600),
        ("process", 100_000),
        ("library", 100_000),
        ("closing", 100_000),
    ];
    items_come_back("odd.c", Some("plugin.c"), &items);
}
