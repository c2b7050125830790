/* Children that live while images of the rank are taken. usage: children ITEM STEPS FOLDER, or as
 * another program: children serve HOW */
#include "items.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BY_READ, BY_POLL, BY_SIGNAL, BY_THREAD, BY_SLEEP, WAYS };

static void answer(int in, int out, uint64_t *all)
{
    uint64_t word;
    if (read(in, &word, sizeof word) != sizeof word)
        _exit(7);
    *all = *all * 3 + word;
    if (write(out, all, sizeof *all) != sizeof *all)
        _exit(8);
}

static int thread_in, thread_out;
static void *answer_always(void *none)
{
    uint64_t all = 0;
    for (;;)
        answer(thread_in, thread_out, &all);
    return none;
}

/* A child: waits in one of several ways, and answers each number with a sum over all so far. */
static void answer_for_ever(int in, int out, int way)
{
    uint64_t all = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    if (way == BY_THREAD) {
        pthread_t thread;
        thread_in = in;
        thread_out = out;
        pthread_create(&thread, 0, answer_always, 0);
        pthread_join(thread, 0);
    }
    for (;;) {
        int number;
        struct pollfd one = { in, POLLIN, 0 };
        if (way == BY_POLL && poll(&one, 1, -1) != 1)
            _exit(9);
        if (way == BY_SIGNAL && sigwait(&set, &number) != 0)
            _exit(10);
        while (way == BY_SLEEP && poll(&one, 1, 0) == 0) {
            struct timespec time = { 0, 300000 };
            if (nanosleep(&time, 0) != 0)
                _exit(11);
        }
        answer(in, out, &all);
    }
}

struct child { pid_t pid; int to, from, way, waits; uint64_t all, word; };
enum { CHILDREN = WAYS };
static struct child children[CHILDREN];
static int executes;

static void start(struct child *it, int way)
{
    int to[2], from[2];
    require(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    fflush(0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]);
        close(from[0]);
        for (int i = 0; i < CHILDREN; i++)
            if (children[i].pid > 0 && &children[i] != it) {
                close(children[i].to);
                close(children[i].from);
            }
        if (!executes)
            answer_for_ever(to[0], from[1], way);
        dup2(to[0], 0);
        dup2(from[1], 1);
        char how[] = { '0' + way, 0 };
        execl("/proc/self/exe", "children", "serve", how, (char *)0);
        _exit(12);
    }
    require(pid > 0);
    close(to[0]);
    close(from[1]);
    *it = (struct child){ .pid = pid, .to = to[1], .from = from[0], .way = way };
}

static void tell(struct child *it, uint64_t word)
{
    require(write(it->to, &word, sizeof word) == sizeof word);
    if (it->way == BY_SIGNAL)
        require(kill(it->pid, SIGUSR1) == 0);
    it->all = it->all * 3 + word;
    it->waits = 1;
}

static void hear(struct child *it)
{
    uint64_t heard;
    require(read(it->from, &heard, sizeof heard) == sizeof heard && heard == it->all);
    mix(heard);
    it->waits = 0;
}

static void end(struct child *it)
{
    int status;
    if (it->waits)
        hear(it);
    require(close(it->to) == 0);
    if (it->way == BY_SIGNAL)
        require(kill(it->pid, SIGUSR1) == 0);
    require(waitpid(it->pid, &status, 0) == it->pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    require(waitpid(it->pid, &status, WNOHANG) == -1 && errno == ECHILD);
    close(it->from);
}

static void forked_begin(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    require(sigprocmask(SIG_BLOCK, &set, 0) == 0); /* for the children */
    for (int i = 0; i < CHILDREN; i++)
        start(&children[i], i % WAYS);
}

static void forked_step(int step)
{
    struct child *it = &children[step % CHILDREN];
    int status;
    if (it->waits)
        hear(it);
    tell(it, next());
    if (step % 3 == 0)
        hear(it);
    usleep(200);
    require(kill(it->pid, 0) == 0 && waitpid(it->pid, &status, WNOHANG) == 0);
    require(getpgid(it->pid) == getpgrp());
    if (step % 97 == 96) {
        int way = it->way;
        end(it);
        start(it, way);
    }
}

static void executed_begin(void)
{
    executes = 1;
    forked_begin();
}

static void executed_step(int step)
{
    forked_step(step);
}

/* What goes in comes out, through two children that know of each other only. */
static int row_in, row_out;
static void row_begin(void)
{
    int pipes[3][2];
    for (int i = 0; i < 3; i++)
        require(pipe2(pipes[i], O_CLOEXEC) == 0);
    for (int i = 0; i < 2; i++) {
        fflush(0);
        pid_t pid = fork();
        require(pid >= 0);
        if (pid == 0) {
            char room[64];
            ssize_t len;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int k = 0; k < 3; k++) {
                if (k != i)
                    close(pipes[k][0]);
                if (k != i + 1)
                    close(pipes[k][1]);
            }
            if (i == 1) { /* A program that knows nothing of this. */
                dup2(pipes[i][0], 0);
                dup2(pipes[i + 1][1], 1);
                execlp("cat", "cat", (char *)0);
                _exit(12);
            }
            while ((len = read(pipes[i][0], room, sizeof room)) > 0)
                if (write(pipes[i + 1][1], room, len) != len)
                    _exit(8);
            _exit(7);
        }
    }
    row_in = pipes[0][1];
    row_out = pipes[2][0];
    for (int k = 0; k < 3; k++) {
        if (k != 0)
            close(pipes[k][1]);
        if (k != 2)
            close(pipes[k][0]);
    }
}

static void row_step(int step)
{
    static uint64_t sent[64], wrote, heard;
    sent[wrote++ % 64] = next();
    require(write(row_in, &sent[(wrote - 1) % 64], 8) == 8);
    usleep(300);
    while (wrote - heard > (uint64_t)(step % 40)) {
        uint64_t word;
        for (size_t have = 0; have < 8;) {
            ssize_t len = read(row_out, (char *)&word + have, 8 - have);
            require(len > 0);
            have += len;
        }
        require(word == sent[heard++ % 64]);
        mix(word);
    }
}

/* Rank and child write one open file in turn. */
static int log_file;
static void file_begin(void)
{
    log_file = open("log", O_RDWR | O_CREAT | O_TRUNC, 0644);
    require(log_file >= 0);
    int to[2], from[2];
    require(pipe(to) == 0 && pipe(from) == 0);
    fflush(0);
    pid_t pid = fork();
    require(pid >= 0);
    if (pid == 0) {
        char line;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]);
        close(from[0]);
        while (read(to[0], &line, 1) == 1)
            if (write(log_file, "child\n", 6) != 6 || write(from[1], &line, 1) != 1)
                _exit(8);
        _exit(7);
    }
    close(to[0]);
    close(from[1]);
    children[0] = (struct child){ .pid = pid, .to = to[1], .from = from[0] };
}

static void file_step(int step)
{
    char line = 'x';
    off_t at = lseek(log_file, 0, SEEK_CUR);
    require(at == step * 11);
    require(write(log_file, "rank\n", 5) == 5);
    require(write(children[0].to, &line, 1) == 1 && read(children[0].from, &line, 1) == 1);
    require(lseek(log_file, 0, SEEK_CUR) == at + 11);
    usleep(200);
    spin(10);
}

/* Streams of popen, in both directions, that are open over many steps. */
static FILE *into, *from;
static int lines;

/* A command that the shell has built in is the shell's. */
static void same_as_in_shell(const char *command)
{
    char whole[64], texts[2][64] = { "", "" };
    snprintf(whole, sizeof whole, ":; %s", command);
    for (int i = 0; i < 2; i++) {
        FILE *stream = popen(i ? whole : command, "r");
        require(stream && fgets(texts[i], sizeof texts[i], stream) && pclose(stream) == 0);
    }
    require(strcmp(texts[0], texts[1]) == 0);
}

static void streams_begin(void)
{
    same_as_in_shell("echo -e x");
    into = popen("cat >written", "w");
    from = popen("exec yes line", "r");
    require(into && from);
}

static void streams_step(int step)
{
    char room[64];
    require(fgets(room, sizeof room, from) && strcmp(room, "line\n") == 0);
    require(fprintf(into, "%d\n", step) > 0);
    usleep(300);
    lines++;
    if (lines == 500) {
        char wanted[16], last[16] = "";
        require(pclose(into) == 0);
        int status = pclose(from);
        require(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
        FILE *written = fopen("written", "r");
        require(written != 0);
        while (fgets(room, sizeof room, written) && strlen(room) < sizeof last)
            strcpy(last, room);
        fclose(written);
        snprintf(wanted, sizeof wanted, "%d\n", step);
        require(strcmp(last, wanted) == 0);
        mix(step);
        lines = 0;
        streams_begin();
    }
}

static const struct item items[] = { ITEM(forked), ITEM(executed), ITEM(row), ITEM(file), ITEM(streams) };

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        answer_for_ever(0, 1, atoi(argv[2]));
    return run(argc, argv, items, sizeof items / sizeof *items);
}
