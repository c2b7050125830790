//! Compiles the freestanding restorer, and makes the library's constructor the first of a process.

fn main() {
    println!("cargo:rerun-if-changed=src/restore/restorer.c");
    println!("cargo:rerun-if-changed=src/threads/thread_notes.c");
    println!("cargo:rerun-if-changed=src/loads/names.c");
    println!("cargo:rerun-if-changed=src/loads/names.h");
    println!("cargo:rerun-if-changed=src/interpose/executes.c");
    println!("cargo:rerun-if-changed=build.rs");
    // The restorer runs from a copy of its own section while the address space is replaced. It may
    // touch nothing outside of that section, so the compiler must not add calls (memcpy), tables
    // (switch), thread-local canaries or constants in other sections.
    cc::Build::new()
        .file("src/restore/restorer.c")
        .std("c11")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .extra_warnings(true)
        .flag("-ffreestanding")
        .flag("-fno-stack-protector")
        .flag("-fno-jump-tables")
        .flag("-fno-builtin")
        .flag("-fno-asynchronous-unwind-tables")
        .flag("-fvisibility=hidden")
        .flag("-mgeneral-regs-only")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .flag_if_supported("-fcf-protection=none")
        .flag_if_supported("-fno-stack-clash-protection")
        .compile("ftmpi_restorer");
    cc::Build::new()
        .file("src/threads/thread_notes.c")
        .std("c11")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .extra_warnings(true)
        .flag("-fvisibility=hidden")
        .compile("ftmpi_thread_notes");
    cc::Build::new()
        .file("src/loads/names.c")
        .std("c11")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .extra_warnings(true)
        .flag("-ffreestanding")
        .flag("-fvisibility=hidden")
        .compile("ftmpi_loads_names");
    cc::Build::new()
        .file("src/interpose/executes.c")
        .std("c11")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .extra_warnings(true)
        .flag("-fvisibility=hidden")
        .compile("ftmpi_executes");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libftmpi_boot.so");
}
