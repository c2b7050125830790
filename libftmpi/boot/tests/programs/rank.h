/* A minimal runtime of a rank: takes an image when the agent asks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request { int fd, reserved; uint64_t image_no; const uint64_t (*useless)[2]; size_t useless_len;
    const int *own; size_t own_len; const int *guarded; size_t guarded_len;
    int (*stopped)(void *); void (*made)(void *), (*restored)(void *); void *context; };
struct outcome { uint64_t pause_ns, estimate_bytes, image_no; int restored, child_pid; };
struct table {
    uint32_t version, size;
    int is_rank, restored;
    uint32_t rank, incarnation;
    int signal, reserved;
    uint64_t window_base, window_len;
    int (*set_hook)(void (*)(void));
    int (*capture)(const struct request *, struct outcome *);
    int (*reap)(void);
    int (*can_capture)(char *, size_t);
    void (*why_refused)(char *, size_t);
    void (*keep_open)(const uint64_t *, size_t);
    uint32_t (*thread)(void);
};
/* To the agent: result of capture (or 2: ready), incarnation, image, pause, process id, a line. */
struct report { int32_t result; uint32_t incarnation; uint64_t image_no, pause_ns; int32_t pid, pad; char why[256]; };

static struct table *boot;
/* Begin and end of memory whose contents are of no use, if any. */
static uint64_t useless[2];
/* A descriptor of the runtime in addition to the image's, if any. */
static int own_fd;
static volatile int images_taken, images_restored, hold;
/* Hooks: called while all other threads stand still. */
static int (*on_stopped)(void *);
static void (*on_made)(void *), (*on_restored)(void *), *hook_context;

static void report_to_agent(int result, const struct outcome *out)
{
    struct report report;
    memset(&report, 0, sizeof report);
    report.result = result;
    report.incarnation = boot->incarnation;
    report.image_no = out->image_no;
    report.pause_ns = out->pause_ns;
    report.pid = getpid();
    if (result < 0)
        boot->why_refused(report.why, sizeof report.why);
    send(1000, &report, sizeof report, 0);
}

/* Safe point, or the signal's hook. */
static void serve(void)
{
    for (;;) {
        uint64_t number = 0;
        struct iovec part = { &number, sizeof number };
        union { struct cmsghdr head; char room[64]; } control;
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        if (recvmsg(1000, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof number)
            return;
        int low, fd;
        memcpy(&low, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof low);
        fd = fcntl(low, F_DUPFD_CLOEXEC, 1003);
        close(low);
        struct request request = { fd, 0, number, &useless, useless[1] > useless[0], &own_fd, own_fd > 0, 0, 0,
                                   on_stopped, on_made, on_restored, hook_context };
        struct outcome outcome;
        memset(&outcome, 0, sizeof outcome);
        while (boot->reap() == 1)
            ;
        int result = boot->capture(&request, &outcome);
        if (result != 1)
            close(fd);
        if (result == 0)
            images_taken++;
        if (result == 1)
            images_restored++;
        report_to_agent(result, &outcome);
    }
}

static volatile int asked;
static void hook(void)
{
    if (hold)
        asked = 1;
    else
        serve();
}

static void be_a_rank(void)
{
    boot = dlsym(RTLD_DEFAULT, "ftmpi_boot_table");
    if (!boot || boot->version != 8 || boot->size != sizeof *boot || !boot->is_rank) {
        fprintf(stderr, "no boot table\n");
        exit(99);
    }
    struct outcome none;
    memset(&none, 0, sizeof none);
    boot->set_hook(hook);
    report_to_agent(2, &none);
}

static void require_at(int condition, const char *what, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: not so: %s (errno %d, restores %d)\n", line, what, errno, images_restored);
        _exit(98);
    }
}
#define require(condition) require_at(!!(condition), #condition, __LINE__)
