/* A program whose state is of one kind that an image must contain: `state --what KIND --steps
 * N`.
 *
 * Every step changes the state, compares all of it with the expected state, and sends a checksum
 * around a ring. The expected state depends only on the number of the step. The program ends
 * with `state KIND on P: ok`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <unistd.h>

#define PAGE 4096
static int me, ranks;
static long step;

static void bad(const char *what)
{
    fprintf(stderr, "FAIL rank %d, step %ld: %s\n", me, step, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The checksum that every state must have at this step. */
static uint64_t expected(int rank) { return mix((uint64_t)rank << 40 | (uint64_t)step); }

static void exchange(uint64_t mine)
{
    uint64_t theirs = 0;
    int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    MPI_Sendrecv(&mine, 1, MPI_UINT64_T, next, 1, &theirs, 1, MPI_UINT64_T, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (theirs != expected(before))
        bad("the neighbour's checksum");
}

/* ---- memory: arrays of cells; cell n holds the value of step n ---------------------------- */

static void put(volatile uint64_t *cell, long n) { *cell = mix((uint64_t)n + 7 * (uint64_t)me); }
static void check(volatile uint64_t *cell, long n, const char *what)
{
    if (*cell != mix((uint64_t)n + 7 * (uint64_t)me))
        bad(what);
}

static char *place;
static size_t place_bytes;
static uint64_t *spot(long n) { return (uint64_t *)(place + mix((uint64_t)n) % (place_bytes / PAGE) * PAGE); }

static void memory_step(const char *what)
{
    /* A later step may have taken the same page, so only the newest few are checked. */
    put(spot(step), step);
    for (long n = step; n > step - 40 && n >= 0; n--) {
        int overwritten = 0;
        for (long m = n + 1; m <= step; m++)
            overwritten |= spot(m) == spot(n);
        if (!overwritten)
            check(spot(n), n, what);
    }
}

static void map(size_t bytes, int flags, int fd)
{
    place_bytes = bytes;
    place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (place == MAP_FAILED)
        bad("mmap");
}

static void sparse_begin(void) { map(1L << 36, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1); }
static void shared_begin(void) { map(4 << 20, MAP_SHARED | MAP_ANONYMOUS, -1); }
static void huge_begin(void)
{
    map(16 << 20, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    madvise(place, place_bytes, MADV_HUGEPAGE);
}
static void memfd_begin(void)
{
    int fd = memfd_create("own", 0);
    if (fd < 0 || ftruncate(fd, 2 << 20) != 0)
        bad("memfd");
    map(2 << 20, MAP_SHARED, fd);
}
static void mapped_begin(void)
{
    char name[64];
    snprintf(name, sizeof name, "mapped.%d", me);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, 32 << 20) != 0)
        bad("the mapped file");
    map(32 << 20, MAP_SHARED, fd);
    close(fd);
}
/* An image does not contain the content of files. An incarnation that begins again finds what
 * the one before wrote after its image, so each step has its own page. */
static void mapped_step(void)
{
    long pages = (long)(place_bytes / PAGE);
    put((uint64_t *)(place + step % pages * PAGE), step);
    for (long n = step; n >= 0 && step < pages; n -= 1 + n / 64)
        check((uint64_t *)(place + n * PAGE), n, "a page of the mapped file");
}
static void sparse_step(void) { memory_step("a page of the mapping"); }

static uint64_t **grown;
static void brk_begin(void) { grown = calloc(100000, sizeof *grown); }
static void brk_step(void)
{
    if (step % 20 == 0 && step / 20 < 100000) {
        grown[step / 20] = sbrk(PAGE);
        put(grown[step / 20], step / 20);
    }
    for (long n = step / 20; n >= 0; n -= 1 + n / 64)
        check(grown[n], n, "memory below brk");
}

static void deep(long left)
{
    volatile uint64_t here[256];
    for (int i = 0; i < 256; i++)
        put(&here[i], left + i);
    if (left > 0)
        deep(left - 1);
    else
        exchange(expected(me));
    for (int i = 0; i < 256; i++)
        check(&here[i], left + i, "a frame of the stack");
}
static void stack_step(void) { deep((long)(mix((uint64_t)step) % 1500)); }

/* ---- files ---------------------------------------------------------------------------------- */

static int file = -1, reading = -1, null = -1;
static void file_begin(int unlinked)
{
    char name[64];
    snprintf(name, sizeof name, "state.%d", me);
    file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    reading = open(name, O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    if (file < 0 || reading < 0 || null < 0)
        bad("open");
    if (unlinked)
        unlink(name);
}
static void file_step(void)
{
    uint64_t cell, back;
    put(&cell, step);
    if (write(file, &cell, 8) != 8 || lseek(file, 0, SEEK_CUR) != 8 * (step + 1))
        bad("position of the written file");
    if (read(reading, &back, 8) != 8 || back != cell)
        bad("the file that is read");
    long old = (long)(mix((uint64_t)step) % (uint64_t)(step + 1));
    if (pread(file, &back, 8, 8 * old) != 8)
        bad("pread");
    check(&back, old, "contents of the file");
    if (write(null, &cell, 8) != 8)
        bad("/dev/null");
}
static void files_begin(void) { file_begin(0); }

/* A file that only this process appends to, by one descriptor: data that were appended after its
 * image are cut off. For a file that another process has open, too, the owner of the end is
 * unknown, so such data would stay. */
static void append_begin(void)
{
    char name[64];
    snprintf(name, sizeof name, "append.%d", me);
    unlink(name);
    file = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (file < 0)
        bad("open");
}
static void append_step(void)
{
    uint64_t cell, back;
    put(&cell, step);
    /* Wherever the position is, the write goes to the end. */
    if (lseek(file, 0, SEEK_SET) != 0 || write(file, &cell, 8) != 8
        || lseek(file, 0, SEEK_CUR) != 8 * (step + 1))
        bad("the end of the file");
    for (long n = step; n >= 0; n -= 1 + n / 16) {
        if (pread(file, &back, 8, 8 * n) != 8)
            bad("pread");
        check(&back, n, "what was appended");
    }
}
static void deleted_begin(void) { file_begin(1); }

static int own[2], events = -1;
static void pipes_begin(void)
{
    events = eventfd(0, EFD_NONBLOCK);
    if (pipe(own) != 0 || events < 0)
        bad("pipe");
    for (long n = -16; n < 0; n++)
        if (write(own[1], &n, sizeof n) != sizeof n)
            bad("write to the pipe");
}
static void pipes_step(void)
{
    long got;
    uint64_t one = 1, count;
    if (write(own[1], &step, sizeof step) != sizeof step || read(own[0], &got, sizeof got) != sizeof got)
        bad("the pipe");
    if (got != step - 16)
        bad("what waited in the pipe");
    if (step % 8 != 7) {
        if (write(events, &one, 8) != 8)
            bad("the event counter");
    } else if (read(events, &count, 8) != 8 || count != 7)
        bad("the count of events");
}

/* ---- signals, timers ------------------------------------------------------------------------ */

static volatile sig_atomic_t caught, ticks, low;
static char *high_stack;
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    char here;
    low = &here > high_stack && &here < high_stack + 65536;
    caught += number == SIGUSR2 && info->si_code == SI_QUEUE ? info->si_value.sival_int : 1000000;
}
static void signals_begin(void)
{
    high_stack = malloc(65536);
    stack_t other = {.ss_sp = high_stack, .ss_size = 65536};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t later;
    sigemptyset(&later);
    sigaddset(&later, SIGUSR2);
    if (sigaltstack(&other, NULL) || sigaction(SIGUSR2, &action, NULL) || sigprocmask(SIG_BLOCK, &later, NULL))
        bad("signals");
}
static void signals_step(void)
{
    sigset_t wait;
    sigemptyset(&wait);
    if (step > 0) {
        /* The signal of the step before is pending; an image may have been taken since. */
        sigset_t waiting;
        sigpending(&waiting);
        if (!sigismember(&waiting, SIGUSR2))
            bad("a signal that waited is gone");
        sigset_t before, none = wait;
        sigaddset(&none, SIGUSR2);
        sigprocmask(SIG_UNBLOCK, &none, &before);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (caught != step || !low)
            bad("count of signals, or their stack");
    }
    /* To this thread, because another MPI may have threads that do not block the signal. */
    if (pthread_sigqueue(pthread_self(), SIGUSR2, (union sigval){.sival_int = 1}))
        bad("sigqueue");
}

static void on_tick(int number) { ticks += number != 0; }
static void timers_begin(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGRTMIN + 3, &action, NULL);
    struct itimerval every = {{0, 7000}, {0, 7000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    struct itimerspec also = {{0, 9000000}, {0, 9000000}};
    timer_t timer;
    if (setitimer(ITIMER_REAL, &every, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer)
        || timer_settime(timer, 0, &also, NULL))
        bad("timers");
}
static void timers_step(void)
{
    if (step % 50 != 49)
        return;
    int seen = ticks;
    for (int n = 0; n < 5000 && ticks < seen + 3; n++)
        usleep(1000);
    if (ticks < seen + 3)
        bad("timers stand still");
}

/* ---- libraries, threads, registers ---------------------------------------------------------- */

static void *library;
static double (*cosine)(double);
static void dlopen_step(void)
{
    if (step % 10 == 0) {
        library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        cosine = library ? (double (*)(double))dlsym(library, "cos") : NULL;
    }
    if (!cosine || fabs(cosine((double)step) - cos((double)step)) > 1e-12)
        bad("a loaded library");
    if (step % 10 == 9)
        dlclose(library);
}

#define THREADS 3
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static long wanted, reached[THREADS];
static __thread long own_count;
static __thread uint64_t own_mix;
static void *thread(void *argument)
{
    long n = (long)argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (reached[n] == wanted)
            pthread_cond_wait(&change, &lock);
        own_count++;
        own_mix = mix(own_mix + (uint64_t)own_count);
        uint64_t again = 0;
        if (own_count % 64 == 0) {
            for (long i = 1; i <= own_count; i++)
                again = mix(again + (uint64_t)i);
            if (again != own_mix)
                bad("a variable of a thread");
        }
        reached[n]++;
        if (own_count != reached[n])
            bad("a thread's own count");
        pthread_cond_broadcast(&change);
    }
    return NULL;
}
static void threads_begin(void)
{
    pthread_t id;
    for (long n = 0; n < THREADS; n++)
        if (pthread_create(&id, NULL, thread, (void *)n))
            bad("pthread_create");
}
static void threads_step(void)
{
    pthread_mutex_lock(&lock);
    wanted++;
    own_count++;
    pthread_cond_broadcast(&change);
    for (long n = 0; n < THREADS; n++)
        while (reached[n] != wanted)
            pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
    if (own_count != step + 1)
        bad("the main thread's own variable");
}

/* Values stay in vector registers while signals and images come. */
static void registers_step(void)
{
    uint64_t in[8], out[8];
    for (int i = 0; i < 8; i++)
        put(&in[i], step + i);
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile("vmovdqu64 %1, %%zmm7\n\tmov $400000, %%rcx\n1:\tdec %%rcx\n\tjnz 1b\n\t"
                         "vmovdqu64 %%zmm7, %0\n\tvzeroupper"
                         : "=m"(out) : "m"(in) : "rcx", "xmm7");
    else if (__builtin_cpu_supports("avx2"))
        __asm__ volatile("vmovdqu %2, %%ymm7\n\tvmovdqu %3, %%ymm8\n\tmov $400000, %%rcx\n1:\tdec %%rcx\n\t"
                         "jnz 1b\n\tvmovdqu %%ymm7, %0\n\tvmovdqu %%ymm8, %1\n\tvzeroupper"
                         : "=m"(*(uint64_t(*)[4])out), "=m"(*(uint64_t(*)[4])(out + 4))
                         : "m"(*(uint64_t(*)[4])in), "m"(*(uint64_t(*)[4])(in + 4))
                         : "rcx", "xmm7", "xmm8");
    else
        memcpy(out, in, sizeof out);
    if (memcmp(in, out, sizeof in) != 0)
        bad("vector registers");
}

/* Mask registers and the upper half of the vector registers, where they exist. */
__attribute__((target("avx512bw"), noinline)) static void masks_run(void)
{
    uint64_t mask, back, in[8], out[8];
    put(&mask, step);
    for (int i = 0; i < 8; i++)
        put(&in[i], step - i);
    __asm__ volatile("kmovq %2, %%k5\n\tvmovdqu64 %3, %%zmm29\n\tmov $400000, %%rcx\n1:\tdec %%rcx\n\tjnz 1b\n\t"
                     "kmovq %%k5, %0\n\tvmovdqu64 %%zmm29, %1"
                     : "=r"(back), "=m"(out)
                     : "r"(mask), "m"(in)
                     : "rcx", "xmm29", "k5");
    if (back != mask || memcmp(in, out, sizeof in) != 0)
        bad("mask registers");
}
static void masks_step(void)
{
    if (__builtin_cpu_supports("avx512bw"))
        masks_run();
}

/* Clocks that are read without a system call continue and never run backwards, on any kernel. */
static void clock_step(void)
{
    static struct timespec last;
    struct timespec now, cpu;
    for (int n = 0; n < 100; n++) {
        if (clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu))
            bad("clocks");
        if (now.tv_sec < last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec < last.tv_nsec))
            bad("time went back");
        last = now;
        if (time(NULL) + 1 < now.tv_sec)
            bad("two clocks of the kernel's page do not agree");
    }
}

/* A team of OpenMP, with the data of each of its threads. */
#ifdef _OPENMP
#define TEAM 3
static uint64_t team_own;
#pragma omp threadprivate(team_own)
static uint64_t team_all[TEAM];
static void openmp_step(void)
{
    int size = 0;
#pragma omp parallel num_threads(TEAM) shared(size)
    {
        int n = omp_get_thread_num();
        if (step > 0 && team_own != mix((uint64_t)(step - 1) * TEAM + (uint64_t)n))
            bad("what belongs to a thread of the team");
        team_own = mix((uint64_t)step * TEAM + (uint64_t)n);
        team_all[n] = team_own;
#pragma omp barrier
#pragma omp single
        size = omp_get_num_threads();
    }
    uint64_t sum = 0, wanted_sum = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : sum) schedule(dynamic, 7)
    for (int i = 0; i < 1000; i++)
        sum += mix((uint64_t)(step + i));
    for (int i = 0; i < 1000; i++)
        wanted_sum += mix((uint64_t)(step + i));
    if (sum != wanted_sum || size != TEAM)
        bad("a parallel region");
}
#endif

/* A limit below the library's own descriptor numbers, and the limit of a restored process. `fewest`:
 * the hard limit as well, so that the library's descriptors have such numbers, too. */
static int hard;
static void few_begin(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        bad("getrlimit");
    limit.rlim_cur = 64;
    if (hard)
        limit.rlim_max = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        bad("setrlimit");
    file_begin(0);
}
static void fewest_begin(void)
{
    hard = 1;
    few_begin();
}
static void few_step(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != 64)
        bad("the limit on descriptors");
    file_step();
    if (step % 16 == 0) {
        int more[64], n = 0;
        while (n < 64 && (more[n] = open("/dev/null", O_RDONLY)) >= 0)
            n++;
        if (n < (hard ? 16 : 32) || n == 64 || more[n - 1] > 63)
            bad("how many descriptors it may have");
        while (n > 0)
            close(more[--n]);
    }
}

#include "event_loop.h"
#include "left_over.h"

static void nothing(void) {}

static const struct {
    const char *name;
    void (*begin)(void), (*step)(void);
} KINDS[] = {
    {"sparse", sparse_begin, sparse_step}, {"shared", shared_begin, sparse_step},
    {"huge", huge_begin, sparse_step},     {"memfd", memfd_begin, sparse_step},
    {"brk", brk_begin, brk_step},          {"stack", nothing, stack_step},
    {"files", files_begin, file_step},     {"deleted", deleted_begin, file_step},
    {"pipes", pipes_begin, pipes_step},    {"signals", signals_begin, signals_step},
    {"timers", timers_begin, timers_step}, {"dlopen", nothing, dlopen_step},
    {"threads", threads_begin, threads_step}, {"registers", nothing, registers_step},
    {"append", append_begin, append_step}, {"mapped", mapped_begin, mapped_step},
    {"masks", nothing, masks_step},        {"clock", nothing, clock_step},
    {"few", few_begin, few_step},          {"fewest", fewest_begin, few_step},
    {"loop", loop_begin, loop_step},       {"base", base_begin, base_step},
    {"children", children_begin, children_step},
#ifdef _OPENMP
    {"openmp", nothing, openmp_step},
#endif
};

int main(int argc, char **argv)
{
    const char *what = "";
    long steps = 100, pause = 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--what"))
            what = argv[i + 1];
        if (!strcmp(argv[i], "--steps"))
            steps = atol(argv[i + 1]);
        if (!strcmp(argv[i], "--pause"))
            pause = atol(argv[i + 1]);
    }
    size_t kind = 0;
    while (kind < sizeof KINDS / sizeof *KINDS && strcmp(KINDS[kind].name, what) != 0)
        kind++;
    if (kind == sizeof KINDS / sizeof *KINDS)
        bad("--what: no such kind");
    KINDS[kind].begin();
    for (step = 0; step < steps; step++) {
        KINDS[kind].step();
        exchange(expected(me));
        usleep((useconds_t)pause);
    }
    if (me == 0)
        printf("state %s on %d: ok\n", what, ranks);
    MPI_Finalize();
    return 0;
}
