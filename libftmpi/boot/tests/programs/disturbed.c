/* The agent's signal comes at the worst moments, without a request. The program must see all of
 * its own signals, and nothing else. usage: disturbed */
#include "rank.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static pid_t main_thread;
static void *nudge(void *again)
{
    do {
        usleep(20000);
        syscall(SYS_tgkill, getpid(), main_thread, boot->signal);
    } while (*(volatile int *)again);
    return 0;
}

/* Runs at the same time as the main thread. */
static int repeat;
static pthread_t begin(int many)
{
    pthread_t thread;
    repeat = many;
    require(pthread_create(&thread, 0, nudge, &repeat) == 0);
    return thread;
}
static void finish(pthread_t thread)
{
    *(volatile int *)&repeat = 0;
    require(pthread_join(thread, 0) == 0);
}

static volatile int came;
/* All signals are blocked here: the agent's signal is pending until this ends. */
static void on_signal(int signal)
{
    came = signal;
    syscall(SYS_tgkill, getpid(), main_thread, boot->signal);
}
static void on_signal_with_info(int signal, siginfo_t *info, void *context)
{
    require(info->si_signo == signal && info->si_pid == getpid() && context);
    on_signal(signal);
}
static void quiet(int signal) { came = signal; }

static int arrives;
static void while_it_stands_still(void)
{
    if (arrives)
        syscall(SYS_tgkill, getpid(), main_thread, arrives);
}

static int ends[2];
static void *drain(void *total)
{
    char bytes[10000];
    for (size_t have = 0; have < *(size_t *)total;) {
        usleep(2000);
        ssize_t got = read(ends[0], bytes, sizeof bytes);
        require(got > 0);
        have += got;
    }
    return 0;
}

/* The agent's signal comes on a signal stack with room for one frame; its handler needs more. */
static volatile int visits;
static void use_much(void)
{
    volatile char room[60000];
    for (size_t at = 0; at < sizeof room; at += 4096)
        room[at] = 1;
    visits += room[4096];
}
static void on_small_stack(int signal)
{
    came = signal;
    int before = visits;
    syscall(SYS_tgkill, getpid(), main_thread, boot->signal);
    require(visits == before);
}

int main(void)
{
    be_a_rank();
    main_thread = syscall(SYS_gettid);
    boot->set_hook(while_it_stands_still);

    /* The program reads its actions as it has set them. */
    struct sigaction action = { .sa_handler = on_signal }, previous;
    sigfillset(&action.sa_mask);
    require(signal(SIGUSR1, quiet) == SIG_DFL && signal(SIGUSR1, SIG_IGN) == quiet);
    require(sigaction(SIGUSR1, &action, &previous) == 0 && previous.sa_handler == SIG_IGN);
    require(sigaction(SIGUSR1, 0, &previous) == 0 && previous.sa_handler == on_signal && !(previous.sa_flags & SA_SIGINFO));
    require(sigaction(SIGKILL, &action, 0) == -1 && errno == EINVAL);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_signal_with_info;
    require(sigaction(SIGUSR2, &action, 0) == 0 && raise(SIGUSR2) == 0 && came == SIGUSR2);
    require(signal(SIGUSR2, quiet) == (void (*)(int))on_signal_with_info && raise(SIGUSR2) == 0 && came == SIGUSR2);

    size_t small = (sysconf(_SC_MINSIGSTKSZ) + 3000 + 4095) & ~4095ul;
    char *area = mmap(0, small + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(area != MAP_FAILED && mprotect(area, 4096, PROT_NONE) == 0);
    stack_t stack = { .ss_sp = area + 4096, .ss_size = small }, none_ = { .ss_flags = SS_DISABLE };
    require(sigaltstack(&stack, 0) == 0);
    struct sigaction high = { .sa_handler = on_small_stack, .sa_flags = SA_ONSTACK };
    require(sigaction(SIGUSR2, &high, 0) == 0 && sigaction(SIGUSR2, 0, &previous) == 0);
    require(previous.sa_handler == on_small_stack && sigismember(&previous.sa_mask, boot->signal) == 0 && previous.sa_flags & SA_ONSTACK);
    boot->set_hook(use_much);
    require(raise(SIGUSR2) == 0 && came == SIGUSR2 && visits == 1);
    boot->set_hook(while_it_stands_still);
    require(sigaltstack(&none_, 0) == 0 && signal(SIGUSR2, SIG_DFL) == on_small_stack);

    /* A handler that blocks the agent's signal ends the wait, however late the agent's signal
     * comes. */
    action.sa_flags = 0;
    action.sa_handler = on_signal;
    require(sigaction(SIGALRM, &action, 0) == 0);
    ualarm(30000, 0);
    require(pause() == -1 && errno == EINTR && came == SIGALRM);
    came = 0;
    ualarm(30000, 0);
    require(poll(0, 0, 5000) == -1 && errno == EINTR && came == SIGALRM);
    came = 0;
    ualarm(30000, 0);
    struct timespec left = { 9, 0 };
    require(nanosleep(&left, &left) == -1 && errno == EINTR && left.tv_sec == 8);
    sigset_t none;
    sigemptyset(&none);
    ualarm(30000, 0);
    require(sigsuspend(&none) == -1 && errno == EINTR);

    /* A signal without a handler does not end the wait. */
    pthread_t thread = begin(0);
    arrives = SIGCHLD;
    require(poll(0, 0, 100) == 0);
    finish(thread);
    arrives = SIGUSR1;
    require(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    thread = begin(0);
    require(poll(0, 0, 100) == 0);
    finish(thread);

    /* A signal that comes while the process stands still for an image ends the calls that it would
     * end. */
    char byte;
    require(pipe(ends) == 0);
    action.sa_handler = quiet;
    require(sigaction(SIGUSR1, &action, 0) == 0);
    for (int n = 0; n < 20; n++) {
        came = 0;
        thread = begin(0);
        require(read(ends[0], &byte, 1) == -1 && errno == EINTR && came == SIGUSR1);
        finish(thread);
    }
    /* ... and no other calls. */
    require(signal(SIGUSR1, quiet) == quiet);
    came = 0;
    thread = begin(0);
    pthread_t other;
    repeat = 0;
    struct timespec later = { 0, 100000000 };
    pid_t child = fork();
    if (child == 0) {
        nanosleep(&later, 0);
        _exit(write(ends[1], "x", 1) != 1);
    }
    require(read(ends[0], &byte, 1) == 1 && came == SIGUSR1);
    arrives = 0;
    finish(thread);
    int status;
    require(waitpid(child, &status, 0) == child && status == 0);

    /* A write writes all of its bytes. */
    size_t total = 1 << 20;
    char *bytes = calloc(1, total);
    require(pthread_create(&other, 0, drain, &total) == 0);
    thread = begin(1);
    require(write(ends[1], bytes, total) == (ssize_t)total);
    finish(thread);
    require(pthread_join(other, 0) == 0);
    printf("undisturbed\n");
    return 0;
}
