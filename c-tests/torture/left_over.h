/* Kinds `base` and `children` of state.c, which includes this file. */
#include <sys/stat.h>
#include <sys/wait.h>

/* A small data base that stays open: records are changed in place, and memory knows what each must
 * be. */
enum { RECORDS = 500 };
static int base = -1;
static uint64_t records[RECORDS];
static void base_begin(void)
{
    char name[64];
    snprintf(name, sizeof name, "base.%d", me);
    base = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (base < 0 || write(base, records, sizeof records) != sizeof records)
        bad("the data base");
}
static void base_step(void)
{
    static uint64_t found[RECORDS];
    if (pread(base, found, sizeof found, 0) != sizeof found || memcmp(found, records, sizeof found) != 0)
        bad("the data base has other records than were written");
    long which = (long)(mix((uint64_t)step) % RECORDS);
    records[which] = expected(me);
    if (pwrite(base, &records[which], 8, 8 * which) != 8)
        bad("write to the data base");
}

/* Children that have ended, and that nobody has waited for yet. */
enum { LEFT = 3, CHILD_EVERY = 60 };
static pid_t left[LEFT];
static void leave_a_child(long n)
{
    siginfo_t info;
    left[n % LEFT] = fork();
    if (left[n % LEFT] == 0) {
        if (n % 2)
            kill(getpid(), SIGKILL);
        _exit((int)(n % 100));
    }
    if (left[n % LEFT] < 0 || waitid(P_PID, (id_t)left[n % LEFT], &info, WEXITED | WNOWAIT) != 0)
        bad("a child");
}
static void children_begin(void)
{
    for (long n = 0; n < LEFT; n++)
        leave_a_child(n);
}
static void children_step(void)
{
    for (int i = 0; i < LEFT; i++)
        if (kill(left[i], 0) != 0)
            bad("an ended child is gone");
    if (step % CHILD_EVERY != CHILD_EVERY - 1)
        return;
    long n = step / CHILD_EVERY;
    int status;
    if (waitpid(left[n % LEFT], &status, 0) != left[n % LEFT])
        bad("waitpid");
    if (n % 2 ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
              : !WIFEXITED(status) || WEXITSTATUS(status) != n % 100)
        bad("how a child ended");
    leave_a_child(n + LEFT);
}
