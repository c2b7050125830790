/* Asks what the vDSO answers, again and again, and compares with system calls. An incarnation with an
 * odd number ends after 0.3 s; the others last until they are killed. usage: kernels [anywhere]
 *   anywhere: images are taken at any place, mostly in the handler of a signal that came anywhere */
#include "rank.h"
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static double of(struct timespec time) { return time.tv_sec + time.tv_nsec * 1e-9; }

static double by_call(clockid_t clock)
{
    struct timespec time;
    require(syscall(SYS_clock_gettime, clock, &time) == 0);
    return of(time);
}

static void look(void)
{
    static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME };
    for (int n = 0; n < 4; n++) {
        struct timespec time, step;
        double before = by_call(clocks[n]);
        require(clock_gettime(clocks[n], &time) == 0);
        double after = by_call(clocks[n]);
        require(before <= of(time) + 1e-9 && of(time) <= after + 1e-9);
        require(clock_getres(clocks[n], &step) == 0 && step.tv_sec == 0 && step.tv_nsec > 0);
    }
    struct timeval now;
    double before = by_call(CLOCK_REALTIME);
    require(gettimeofday(&now, 0) == 0);
    double shown = now.tv_sec + now.tv_usec * 1e-6;
    require(before - 1e-5 <= shown && shown <= by_call(CLOCK_REALTIME));
    time_t coarse = time(0);
    require(coarse >= (time_t)before - 1 && coarse <= (time_t)by_call(CLOCK_REALTIME));
    require(sched_getcpu() >= 0);
    char bytes[8] = { 0 };
    require(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
}

/* Heap and stack grow, where the kernel believes them to be. */
static int deep(int left)
{
    volatile char room[64 << 10];
    room[0] = (char)left;
    room[sizeof room - 1] = left == 0 ? 0 : (char)deep(left - 1);
    return room[0];
}

static void grow(void)
{
    char *end = sbrk(1 << 20);
    require(end != (void *)-1 && sbrk(0) == end + (1 << 20));
    memset(end, 7, 1 << 20);
    require(deep(60) == 60);
    char text[1 << 12];
    FILE *line = fopen("/proc/self/cmdline", "r");
    require(line && fgets(text, sizeof text, line) && strstr(text, "kernels"));
    fclose(line);
}

static void handler(int signal)
{
    (void)signal;
    for (volatile int n = 0; n < 300000; n++)
        ;
}

static int anywhere(void)
{
    struct sigaction action = { .sa_handler = handler };
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
    require(sigaction(SIGALRM, &action, 0) == 0 && setitimer(ITIMER_REAL, &often, 0) == 0);
    double begin = by_call(CLOCK_MONOTONIC);
    for (int restored = 0;;) {
        struct timespec time;
        for (int n = 0; n < 1000; n++)
            require(clock_gettime(CLOCK_MONOTONIC, &time) == 0 && time.tv_nsec < 1000000000);
        if (restored != images_restored) {
            restored = images_restored;
            begin = of(time);
        }
        if (boot->incarnation % 2 != 0 && of(time) > begin + 0.3)
            break;
    }
    printf("%d\n", images_restored);
    return 0;
}

int main(int argc, char **argv)
{
    be_a_rank();
    if (argc > 1 && !strcmp(argv[1], "anywhere"))
        return anywhere();
    double begin = by_call(CLOCK_MONOTONIC);
    int restored = 0;
    while (boot->incarnation % 2 == 0 || by_call(CLOCK_MONOTONIC) < begin + 0.3) {
        look();
        /* A safe point, which is not inside of the vDSO. */
        hold = 1;
        if (asked) {
            asked = 0;
            serve();
        }
        if (restored != images_restored) {
            restored = images_restored;
            begin = by_call(CLOCK_MONOTONIC);
            grow();
        }
    }
    printf("%d\n", images_restored);
    return 0;
}
