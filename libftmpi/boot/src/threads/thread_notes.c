/* Notes about each thread, in its own thread-local storage: how often the agent's signal woke one
 * of its system calls, how many handlers of the program it has begun, until when it waits, and
 * which owned locks it may hold.  In C, because stable Rust has no thread-local storage without
 * the standard library. Initial-exec: the library is loaded at the start, so the storage is part
 * of every thread's block. Its use needs neither allocation nor a lock. thread_notes.rs has the
 * same layout. */
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
