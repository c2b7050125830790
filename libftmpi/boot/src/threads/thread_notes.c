/* Notes about each thread, in its own thread-local storage: how often the agent's signal woke one
 * of its system calls, how many handlers of the program it has begun, until when it waits,
 * which owned locks it may hold, and its number.  In C, because stable Rust has no thread-local storage without
 * the standard library. Initial-exec: the library is loaded at the start, so the storage is part
 * of every thread's block. Its use needs neither allocation nor a lock. thread_notes.rs has the
 * same layout. */
#include <stdint.h>

#define HELD_MAX 59

struct notes {
    uint32_t interruptions, held_count, overflow, handled;
    uint64_t inside, until[3];
    uint64_t held[HELD_MAX];
    uint32_t number, children;
};

__thread struct notes ftmpi_boot_thread_notes
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

__attribute__((visibility("hidden"))) struct notes *ftmpi_boot_thread_notes_here(void) { return &ftmpi_boot_thread_notes; }

/* The begin of a thread, which must know its number before it runs the program's function. In C,
 * because pthread_exit unwinds through this frame. */
#define BEGINS_MAX 256

struct thread_begin {
    void *(*function)(void *), *argument;
    uint32_t number, taken;
};

static struct thread_begin begins[BEGINS_MAX];

static void *thread_begins(void *of)
{
    struct thread_begin *place = of, mine = *place;

    ftmpi_boot_thread_notes.number = mine.number;
    __atomic_store_n(&place->taken, 0, __ATOMIC_RELEASE);
    return mine.function(mine.argument);
}

/* Gives the function that is to begin instead. */
__attribute__((visibility("hidden"))) void *(*ftmpi_boot_thread_function(void))(void *) { return thread_begins; }

/* Gives its argument; null: very many threads are beginning at this moment. */
__attribute__((visibility("hidden"))) void *ftmpi_boot_thread_argument(void *(*function)(void *), void *argument, uint32_t number)
{
    for (int i = 0; i < BEGINS_MAX; i++) {
        uint32_t none = 0;
        if (!__atomic_compare_exchange_n(&begins[i].taken, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        begins[i].function = function;
        begins[i].argument = argument;
        begins[i].number = number;
        return &begins[i];
    }
    return 0;
}

/* The thread could not be made. */
__attribute__((visibility("hidden"))) void ftmpi_boot_thread_not_made(void *argument) { __atomic_store_n(&((struct thread_begin *)argument)->taken, 0, __ATOMIC_RELEASE); }

__attribute__((visibility("hidden"))) const uint64_t ftmpi_boot_notes_size = sizeof ftmpi_boot_thread_notes;
