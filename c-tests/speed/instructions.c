/* Counts the instructions of a message in the library, on two ranks. A child of rank 0 traces
 * rank 0 step by step through single calls. No clock is read, and the minimum of several counts
 * is taken: the result is the same on a busy machine.
 *
 * With an argument, so many other calls come before each: `--trace` then times only some calls.
 *
 * Prints `send N` and `receive N` (instructions of a call, 8 bytes, system calls as one), or
 * `untraceable` where processes may not trace each other. */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 20, PAUSE_US = 10000 };

/* Steps the parent from the first to the second stop of every pair. Reports the minimum number
 * of steps. */
static void tracer(pid_t parent, int go, int answer)
{
    long steps = 0, least = LONG_MAX;
    char byte = ptrace(PTRACE_SEIZE, parent, 0, 0) == 0 ? 'y' : 'n';
    if (write(go, &byte, 1) != 1 || byte == 'n')
        _exit(0);
    for (int stops = 0; stops < 2 * CALLS;) {
        int status;
        if (waitpid(parent, &status, 0) != parent || !WIFSTOPPED(status))
            _exit(0);
        int signal = WSTOPSIG(status);
        if (signal == SIGUSR2) {
            stops++;
            if (stops % 2 == 0 && steps < least)
                least = steps;
            steps = 0;
            signal = 0;
        } else if (signal == SIGTRAP) {
            steps++;
            signal = 0;
        }
        ptrace(stops % 2 == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT, parent, 0, signal);
    }
    if (write(answer, &least, sizeof least) != sizeof least)
        _exit(1);
    _exit(0);
}

/* The instructions of `call`, before each of which `prepare` is called. -1 if they cannot be
 * counted. */
static long count(void (*prepare)(void), void (*call)(void))
{
    int go[2], answer[2];
    long steps = -1;
    char byte = 'n';
    if (pipe(go) != 0 || pipe(answer) != 0)
        exit(1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        tracer(parent, go[1], answer[1]);
    close(go[1]);
    close(answer[1]);
    int traced = read(go[0], &byte, 1) == 1 && byte == 'y';
    for (int i = 0; i < CALLS; i++) {
        prepare();
        if (traced)
            raise(SIGUSR2);
        call();
        if (traced)
            raise(SIGUSR2);
    }
    if (traced && read(answer[0], &steps, sizeof steps) != sizeof steps)
        steps = -1;
    close(go[0]);
    close(answer[0]);
    waitpid(child, NULL, 0);
    return steps;
}

static char data[8] = "message";
static int others;

static void nothing(void) {}

static void call_others(void)
{
    int flag;
    for (int i = 0; i < others; i++)
        MPI_Iprobe(0, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    call_others();
}

/* On a busy machine a traced call takes long, so some waits are long enough. */
static void meet_and_wait(void)
{
    static int times;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(PAUSE_US * (1 + times++ % 10));
    call_others();
}

static void send(void)
{
    MPI_Send(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}

static void receive(void)
{
    MPI_Recv(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int me;
    others = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    signal(SIGUSR2, SIG_IGN);
    if (me == 0) {
        long base = count(nothing, nothing);
        long sent = count(meet, send);
        long received = count(meet_and_wait, receive);
        if (base < 0 || sent < 0 || received < 0)
            printf("untraceable\n");
        else
            printf("send %ld\nreceive %ld\n", sent - base, received - base);
    } else {
        for (int i = 0; i < CALLS; i++) {
            /* The receiver must not sleep in the library, where it would have to be woken. */
            meet_and_wait();
            MPI_Recv(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < CALLS; i++) {
            meet();
            MPI_Send(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
