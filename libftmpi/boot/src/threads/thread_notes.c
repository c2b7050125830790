/*
 * Notes about each thread, in its own thread-local storage: how often our signal woke one of its
 * system calls, how many handlers of the program it has begun, until when it waits, and which locks it may hold that name their owner by thread id.
 *
 * In C because thread-local storage without the standard library is not to be had in stable Rust.
 * Initial-exec: this library is loaded at the start, so the storage is part of every thread's block
 * and its use needs neither allocation nor lock. The layout is repeated in notes.rs.
 */
#include <stdint.h>

#define HELD_MAX 59

struct notes {
    uint32_t interruptions, held_count, overflow, handled;
    uint64_t inside, until[3];
    uint64_t held[HELD_MAX];
};

__thread struct notes ftmpi_boot_thread_notes
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

__attribute__((visibility("hidden"))) struct notes *ftmpi_boot_thread_notes_here(void) { return &ftmpi_boot_thread_notes; }
__attribute__((visibility("hidden"))) const uint64_t ftmpi_boot_notes_size = sizeof ftmpi_boot_thread_notes;
