/* Programs of items: what the kernel keeps for the process, its threads and its memory. See
 * items.h.
 * usage: torture_process ITEM STEPS FOLDER */
#include "items.h"
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

/* Handlers, masks, pending signals, a signal stack in use. */
static volatile int usr1, fpe;
static char *stack_memory;
static void on_usr1(int signal) { (void)signal; usr1++; spin(50); }
static void on_fpe(int signal, siginfo_t *info, void *context)
{
    (void)context;
    char here;
    require(signal == SIGFPE && info->si_value.sival_int == 4711 && &here > stack_memory && &here < stack_memory + 65536);
    fpe++;
    spin(400);
}
static void signals_begin(void)
{
    stack_memory = malloc(65536);
    stack_t stack = { .ss_sp = stack_memory, .ss_size = 65536 };
    require(sigaltstack(&stack, 0) == 0);
    struct sigaction action = { .sa_handler = on_usr1, .sa_flags = SA_RESTART | SA_NODEFER };
    sigaddset(&action.sa_mask, SIGWINCH);
    require(sigaction(SIGUSR1, &action, 0) == 0);
    struct sigaction other = { .sa_sigaction = on_fpe, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    require(sigaction(SIGFPE, &other, 0) == 0);
    require(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGRTMIN + 3);
    require(sigprocmask(SIG_BLOCK, &blocked, 0) == 0);
}
static void signals_step(int step)
{
    if (step % 10 == 0) {
        raise(SIGUSR2);
        while (kill(getpid(), SIGRTMIN + 3) == -1 && errno == ESRCH)
            ;
    }
    spin(50);
    sigset_t pending, mask;
    sigpending(&pending);
    require(sigismember(&pending, SIGUSR2) == 1 && sigismember(&pending, SIGRTMIN + 3) == 1);
    if (step % 10 == 9) {
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, SIGUSR2);
        sigaddset(&wanted, SIGRTMIN + 3);
        int one = sigwaitinfo(&wanted, 0), two = sigwaitinfo(&wanted, 0);
        require(one + two == SIGUSR2 + SIGRTMIN + 3);
    }
    int before = usr1;
    raise(SIGUSR1);
    require(usr1 == before + 1);
    union sigval value = { .sival_int = 4711 };
    before = fpe;
    /* A restored process has another id: an image may be taken between the call that gives it and
     * its use. */
    int result;
    do
        result = sigqueue(getpid(), SIGFPE, value);
    while (result == -1 && errno == ESRCH);
    require(result == 0 && fpe == before + 1);
    struct sigaction now;
    require(sigaction(SIGUSR1, 0, &now) == 0 && now.sa_handler == on_usr1 && sigismember(&now.sa_mask, SIGWINCH) && (now.sa_flags & SA_NODEFER));
    require(sigaction(SIGPIPE, 0, &now) == 0 && now.sa_handler == SIG_IGN);
    sigprocmask(SIG_BLOCK, 0, &mask);
    require(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
}

/* Interval timers and POSIX timers: none may stop or get lost. */
static volatile int fired[4];
static timer_t timers[3];
static void on_timer(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal == SIGALRM)
        fired[3]++;
    else if (info->si_code == SI_TIMER) {
        require(info->si_value.sival_int >= 100 && info->si_value.sival_int < 103);
        fired[info->si_value.sival_int - 100]++;
    }
}
static void timers_begin(void)
{
    struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
    require(sigaction(SIGALRM, &action, 0) == 0 && sigaction(SIGRTMIN + 1, &action, 0) == 0);
    struct itimerval interval = { { 0, 1500 }, { 0, 1500 } };
    setitimer(ITIMER_REAL, &interval, 0);
    timer_t unused;
    for (int i = 0; i < 3; i++) {
        struct sigevent event = { .sigev_notify = i == 1 ? SIGEV_THREAD_ID : SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1 };
        event.sigev_value.sival_int = 100 + i;
        event._sigev_un._tid = syscall(SYS_gettid);
        require(timer_create(i == 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &event, timers + i) == 0);
        struct itimerspec spec = { { 0, 1000000 * (i + 1) }, { 0, 1000000 } };
        require(timer_settime(timers[i], 0, &spec, 0) == 0);
        /* The numbers of the timers are not consecutive. */
        require(timer_create(CLOCK_MONOTONIC, &event, &unused) == 0 && timer_delete(unused) == 0);
    }
}
static void timers_step(int step)
{
    spin(2000);
    struct itimerspec spec;
    struct itimerval interval;
    for (int i = 0; i < 3; i++)
        require(timer_gettime(timers[i], &spec) == 0 && spec.it_interval.tv_nsec == 1000000 * (i + 1));
    require(getitimer(ITIMER_REAL, &interval) == 0 && interval.it_interval.tv_usec == 1500);
    if (step % 400 != 399)
        return;
    for (int i = 0; i < 4; i++) {
        int before = fired[i];
        for (int patience = 0; fired[i] < before + 3; patience++) {
            require(patience < 20000);
            usleep(1000);
        }
    }
}

/* Transparent huge pages, large and sparse memory, memory without access. */
static unsigned char *huge, *sparse, *secret;
static void large_begin(void)
{
    huge = mmap(0, 24 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(huge != MAP_FAILED);
    madvise(huge, 24 << 20, MADV_HUGEPAGE);
    for (int i = 0; i < 24 << 20; i += 4096)
        huge[i] = i >> 12;
    sparse = mmap(0, 1ull << 42, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(sparse != MAP_FAILED);
    secret = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(secret, 7, 1 << 20);
    require(mprotect(secret, 1 << 20, PROT_NONE) == 0);
}
static void large_step(int step)
{
    int at = (next() % (24 << 8)) << 12;
    require(huge[at] == (unsigned char)(at >> 12) && huge[at + 1] == huge[at + 2]);
    huge[at + 1] = huge[at + 2] = step;
    uint64_t far = (uint64_t)(step % 97) * 40961237 * 4096 % (1ull << 42);
    require(sparse[far] == (step < 97 ? 0 : (unsigned char)(step - 97)));
    sparse[far] = step;
    if (step % 16 == 0) {
        require(mprotect(secret, 1 << 20, PROT_READ | PROT_WRITE) == 0);
        require(secret[step % (1 << 20)] == 7 || step >= 1 << 20);
        require(mprotect(secret, 1 << 20, PROT_NONE) == 0);
    }
    spin(200);
}

/* The stack grows and is used deep; the heap's end moves. */
static char *heap_begin;
static uint64_t deep(int depth, uint64_t word)
{
    volatile uint64_t room[128];
    for (int i = 0; i < 128; i++)
        room[i] = word * i + depth;
    uint64_t below = depth ? deep(depth - 1, word * 5 + 1) : word;
    for (int i = 0; i < 128; i++)
        require(room[i] == word * i + depth);
    return below + room[depth % 128];
}
/* Locked memory on it makes several mappings of the stack. */
static __attribute__((noinline)) void lock_some(void)
{
    volatile char room[64 * 4096];
    room[0] = 1;
    require(mlock((char *)(((uintptr_t)room + 8191) & ~4095ul), 8192) == 0);
}
static void stack_begin(void)
{
    heap_begin = sbrk(0);
    lock_some();
}
static void stack_step(int step)
{
    mix(deep(next() % (step % 50 == 25 ? 5000 : 60), next()));
    char *end = sbrk(0);
    require(end == heap_begin + (long)(step % 200) * 8192);
    if (step % 200)
        require(end[-1] == (char)(step - 1) && end[-8192] == (char)(step - 1));
    if (step % 200 == 199)
        require(sbrk(-199L * 8192) != (void *)-1);
    else {
        char *more = sbrk(8192);
        require(more == end);
        more[0] = more[8191] = step;
    }
}

/* Registers, as wide as this processor has them, over thousands of instructions without a call. */
static void registers_begin(void) { }
__attribute__((target("avx512f"))) static void wide_loop(int step)
{
    uint64_t in[64], out[64];
    for (int i = 0; i < 64; i++)
        in[i] = next();
    __asm__ volatile(
        "vmovdqu64 (%1), %%zmm3\n vmovdqu64 64(%1), %%zmm17\n vmovdqu64 128(%1), %%zmm30\n"
        "kmovw %k2, %%k3\n mov $200000, %%ecx\n 1: dec %%ecx\n jnz 1b\n"
        "vmovdqu64 %%zmm3, (%0)\n vmovdqu64 %%zmm17, 64(%0)\n vmovdqu64 %%zmm30, 128(%0)\n kmovw %%k3, %k2\n"
        : : "r"(out), "r"(in), "r"(step) : "ecx", "memory", "xmm3", "xmm17", "xmm30", "k3");
    for (int i = 0; i < 24; i++)
        require(in[i] == out[i]);
}
__attribute__((target("avx"))) static void middle_loop(void)
{
    uint64_t in[64], out[64];
    for (int i = 0; i < 64; i++)
        in[i] = next();
    __asm__ volatile(
        "vmovdqu (%1), %%ymm3\n vmovdqu 32(%1), %%ymm15\n fldl 64(%1)\n fldpi\n mov $200000, %%ecx\n 1: dec %%ecx\n jnz 1b\n"
        "vmovdqu %%ymm3, (%0)\n vmovdqu %%ymm15, 32(%0)\n fstp %%st(0)\n fstpl 64(%0)\n"
        : : "r"(out), "r"(in) : "ecx", "memory", "xmm3", "xmm15", "st", "st(1)");
    for (int i = 0; i < 8; i++)
        require(in[i] == out[i]);
}
static void registers_step(int step)
{
    if (__builtin_cpu_supports("avx512f"))
        wide_loop(step);
    else if (__builtin_cpu_supports("avx"))
        middle_loop();
    mix(next());
    unsigned control = _mm_getcsr();
    if (step == 0)
        _mm_setcsr(control | _MM_ROUND_DOWN);
    require((_mm_getcsr() & _MM_ROUND_MASK) == _MM_ROUND_DOWN);
}

/* Limits, name, priority, mask of new files, folder, clocks. */
static struct timespec last;
static int priority;
static char *common;
static rlim_t core_max;
static void limits_begin(void)
{
    require(mkdir("inside", 0700) == 0 || errno == EEXIST);
    require(chdir("inside") == 0);
    umask(0125);
    struct rlimit limit = { 9999, 12345 };
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    require(getrlimit(RLIMIT_CORE, &limit) == 0);
    /* The limit may be lower already, and only root may raise it. */
    core_max = limit.rlim_max < 654321 ? limit.rlim_max : 654321;
    limit.rlim_cur = 0;
    limit.rlim_max = core_max;
    require(setrlimit(RLIMIT_CORE, &limit) == 0);
    /* From now on files in /proc belong to root. The image reads shared memory through such a
     * file. */
    require(prctl(PR_SET_DUMPABLE, 0) == 0);
    common = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(common != MAP_FAILED);
    strcpy(common, "shared");
    require(prctl(PR_SET_NAME, "torture's name") == 0);
    errno = 0;
    priority = getpriority(PRIO_PROCESS, 0) + 2;
    /* The tests may run with the lowest priority already. */
    priority = priority > 19 ? 19 : priority;
    require(errno == 0 && setpriority(PRIO_PROCESS, 0, priority) == 0);
}
static void limits_step(int step)
{
    spin(100);
    struct rlimit limit;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 9999 && limit.rlim_max == 12345);
    require(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == core_max);
    require(prctl(PR_GET_DUMPABLE) == 0 && strcmp(common, "shared") == 0);
    char text[4096];
    require(prctl(PR_GET_NAME, text) == 0 && strcmp(text, "torture's name") == 0);
    errno = 0;
    require(getpriority(PRIO_PROCESS, 0) == priority && errno == 0);
    if (step % 16 == 0)
        require(umask(0125) == 0125);
    size_t len = strlen(getcwd(text, sizeof text));
    require(len > 7 && strcmp(text + len - 7, "/inside") == 0);
    struct timespec now;
    require(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && (now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec >= last.tv_nsec)));
    last = now;
    require(time(0) > 1000000000);
}

/* Attributes of the process, and of each of its threads. */
static pthread_barrier_t pair_there;
static int unchanged;
static int io_class(int class, int level) { return class << 13 | level; }
static void be(unsigned long slack, int policy, int level)
{
    require(prctl(PR_SET_TIMERSLACK, slack) == 0);
    struct sched_param none = { 0 };
    require(sched_setscheduler(0, policy, &none) == 0);
    require(syscall(SYS_ioprio_set, 1, 0, io_class(2, level)) == 0);
}
static void is(unsigned long slack, int policy, int level)
{
    require((unsigned long)prctl(PR_GET_TIMERSLACK) == slack && sched_getscheduler(0) == policy);
    require(syscall(SYS_ioprio_get, 1, 0) == io_class(2, level));
}
static cpu_set_t all_processors;
static void *other_attributes(void *none)
{
    be(33333, SCHED_OTHER, 3);
    pthread_barrier_wait(&pair_there);
    for (;;) {
        is(33333, SCHED_OTHER, 3);
        /* Not those of the main thread, which makes this thread again. */
        cpu_set_t mine;
        require(sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, &all_processors));
        require(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 || unchanged);
        int signal;
        require(prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == 0);
        usleep(100);
    }
    return none;
}
static pthread_t other;
static int as_root;
static long locked_kilobytes(void)
{
    char line[200];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    require(status);
    while (value < 0 && fgets(line, sizeof line, status))
        sscanf(line, "VmLck: %ld", &value);
    fclose(status);
    return value;
}
static void attributes_begin(void)
{
    as_root = geteuid() == 0;
    pthread_barrier_init(&pair_there, 0, 2);
    require(sched_getaffinity(0, sizeof all_processors, &all_processors) == 0);
    unchanged = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    require(pthread_create(&other, 0, other_attributes, 0) == 0);
    pthread_barrier_wait(&pair_there);
    be(77777, SCHED_BATCH, 6);
    int one = 0;
    while (!CPU_ISSET(one, &all_processors))
        one++;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(one, &only);
    require(sched_setaffinity(0, sizeof only, &only) == 0);
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_KEEPCAPS, 1) == 0);
    require(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0);
    require(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
    require(personality(personality(~0u) | ADDR_COMPAT_LAYOUT) >= 0);
    require(!as_root || mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    int file = open("/proc/self/oom_score_adj", O_WRONLY);
    require(file >= 0 && write(file, "345", 3) == 3 && close(file) == 0);
}
static void attributes_step(int step)
{
    spin(100);
    is(77777, SCHED_BATCH, 6);
    int value = 0;
    cpu_set_t mine;
    require(sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1);
    require(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_KEEPCAPS) == 1);
    require(prctl(PR_GET_CHILD_SUBREAPER, &value) == 0 && value == 1);
    require(prctl(PR_GET_PDEATHSIG, &value) == 0 && value == SIGUSR2);
    require(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 && personality(~0u) & ADDR_COMPAT_LAYOUT);
    if (as_root && step % 1024 == 0) {
        /* New memory is locked at once, and counted. */
        long before = locked_kilobytes();
        char *new = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(before > 0 && new != MAP_FAILED && locked_kilobytes() == before + 1024 && munmap(new, 1 << 20) == 0);
    }
    if (step % 16 == 0) {
        char text[16] = "";
        int file = open("/proc/self/oom_score_adj", O_RDONLY);
        require(file >= 0 && read(file, text, 15) > 0 && close(file) == 0 && atoi(text) == 345);
    }
}

static const struct item items[] = {
    ITEM(signals), ITEM(timers), ITEM(large), ITEM(stack), ITEM(registers), ITEM(limits),
    ITEM(attributes),
};

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
