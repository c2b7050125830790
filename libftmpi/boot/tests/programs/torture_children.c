/* Programs of items: children that have ended and that nobody has waited for. See items.h.
 * usage: torture_children ITEM STEPS FOLDER */
#define _GNU_SOURCE
#include "items.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { CHILDREN = 5 };
static pid_t child[CHILDREN];
static int how[CHILDREN];
static volatile int told;
static void on_child(int signal) { (void)signal; told++; }

/* A child that ends by an exit code, by a signal, or as leader of a group of its own. */
static void start(int which, int step)
{
    /* While a child lives there is no image. */
    undisturbed(1);
    how[which] = step % 3;
    child[which] = fork();
    if (child[which] == 0) {
        if (step % 3 == 2)
            setpgid(0, 0);
        if (step % 3 == 1)
            kill(getpid(), step % 2 ? SIGKILL : SIGTERM);
        _exit(step % 100);
    }
    siginfo_t info;
    require(child[which] > 0 && waitid(P_PID, child[which], &info, WEXITED | WNOWAIT) == 0);
    undisturbed(0);
}

static void children_begin(void)
{
    struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART };
    require(sigaction(SIGCHLD, &action, 0) == 0);
    for (int which = 0; which < CHILDREN; which++)
        start(which, which);
}

static void check(int which, int step, pid_t pid, int status)
{
    require(pid == child[which]);
    if (how[which] == 1)
        require(WIFSIGNALED(status) && WTERMSIG(status) == (step % 2 ? SIGKILL : SIGTERM));
    else
        require(WIFEXITED(status) && WEXITSTATUS(status) == step % 100);
    mix(status);
}

static void children_step(int step)
{
    int which = step % CHILDREN, status = -1;
    /* A signal for each child, and no other, also after a restore. */
    require(told == step + CHILDREN);
    spin(400);
    for (int i = 0; i < CHILDREN; i++) {
        siginfo_t info = { 0 };
        require(kill(child[i], 0) == 0 && getpgid(child[i]) == (how[i] == 2 ? child[i] : getpgrp()));
        require(waitid(P_PID, child[i], &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == child[i]);
        require(info.si_code == (how[i] == 1 ? CLD_KILLED : CLD_EXITED));
    }
    spin(200);
    pid_t pid;
    struct rusage used;
    switch (step % 4) {
    case 0: pid = waitpid(child[which], &status, 0); break;
    case 1: pid = wait4(child[which], &status, WNOHANG, &used); break;
    case 2: pid = how[which] == 2 ? waitpid(-child[which], &status, 0) : waitpid(child[which], &status, WNOHANG); break;
    default: {
        siginfo_t info;
        require(waitid(P_PID, child[which], &info, WEXITED) == 0);
        pid = info.si_pid;
        status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    }
    }
    check(which, step, pid, status);
    require(waitpid(child[which], &status, WNOHANG) == -1 && errno == ECHILD);
    start(which, step + CHILDREN);
}

/* Any child, by wait(): what comes is one of the table. */
static void any_begin(void)
{
    for (int which = 0; which < CHILDREN; which++)
        start(which, 3 * which);
}
static void any_step(int step)
{
    int status, which = 0;
    spin(500);
    pid_t pid = step % 2 ? wait(&status) : wait3(&status, 0, 0);
    while (which < CHILDREN && child[which] != pid)
        which++;
    require(which < CHILDREN && WIFEXITED(status));
    start(which, 3 * step);
}

/* A handler jumps out of a call that waits for a living child. The child ends; images go on. */
static sigjmp_buf back;
static void on_alarm(int signal) { (void)signal; siglongjmp(back, 1); }
static void left_begin(void)
{
    struct sigaction action = { .sa_handler = on_alarm };
    require(sigaction(SIGALRM, &action, 0) == 0);
}
static void left_step(int step)
{
    int status;
    siginfo_t info;
    undisturbed(1);
    pid_t parent = getpid();
    child[0] = fork();
    if (child[0] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            sleep(60);
        _exit(1);
    }
    struct itimerval soon = { .it_value.tv_usec = 2000 };
    if (sigsetjmp(back, 1) == 0) {
        require(setitimer(ITIMER_REAL, &soon, 0) == 0);
        waitpid(child[0], &status, 0);
        require(0);
    }
    require(kill(child[0], SIGKILL) == 0 && waitid(P_PID, child[0], &info, WEXITED | WNOWAIT) == 0);
    undisturbed(0);
    spin(400 + step % 7);
    require(waitpid(child[0], &status, 0) == child[0] && WTERMSIG(status) == SIGKILL);
}

/* Children that die of signals for which a core is dumped, and that leave none. */
static void cores_begin(void) {}
static void cores_step(int step)
{
    static const int fatal[] = { SIGSEGV, SIGABRT, SIGQUIT };
    int status, deadly = fatal[step % 3];
    siginfo_t info;
    undisturbed(1);
    child[0] = fork();
    if (child[0] == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        signal(deadly, SIG_DFL); /* Shells have commands in the background ignore SIGQUIT. */
        kill(getpid(), deadly);
    }
    require(waitid(P_PID, child[0], &info, WEXITED | WNOWAIT) == 0);
    undisturbed(0);
    spin(400);
    require(waitid(P_PID, child[0], &info, WEXITED | WNOWAIT) == 0 && info.si_code == CLD_KILLED);
    require(waitpid(child[0], &status, 0) == child[0] && WTERMSIG(status) == deadly && !WCOREDUMP(status));
}

static const struct item items[] = { ITEM(children), ITEM(any), ITEM(left), ITEM(cores) };

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
