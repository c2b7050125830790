/* Waits until times of clocks that count since the host was started, and reads them. After a
 * restore where the host's clocks show less, they must go on from what they showed. usage: clocks */
#include "rank.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

static const clockid_t all[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME };
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, own[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t plain = PTHREAD_COND_INITIALIZER, counting;
static sem_t semaphore;
static int word;

static double seconds(clockid_t clock)
{
    struct timespec time;
    require(clock_gettime(clock, &time) == 0);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int result(int got) { return got == -1 ? errno : got; }

static int wait_until(int how, const struct timespec *time)
{
    switch (how) {
    case 0: return pthread_cond_clockwait(&plain, &own[0], CLOCK_MONOTONIC, time);
    case 1: return pthread_cond_timedwait(&counting, &own[1], time);
    case 2: return result(sem_clockwait(&semaphore, CLOCK_MONOTONIC, time));
    case 3: return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, 0) == 0 ? ETIMEDOUT : -1;
    case 4: return pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, time);
    case 5: return pthread_rwlock_clockwrlock(&read_write, CLOCK_MONOTONIC, time);
    case 6: return pthread_rwlock_clockrdlock(&read_write, CLOCK_MONOTONIC, time);
    case 7: return result(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, time, 0, ~0u));
    default: return syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, TIMER_ABSTIME, time, 0) == 0 ? ETIMEDOUT : errno;
    }
}

enum { WAYS = 9, ROUNDS = 8 };
static void *waiter(void *number)
{
    int how = (int)(intptr_t)number;
    if (how < 2)
        pthread_mutex_lock(&own[how]);
    for (int n = 0; n < ROUNDS; n++) {
        struct timespec time;
        clockid_t clock = how == 8 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
        require(clock_gettime(clock, &time) == 0);
        /* Not a multiple of anything. */
        time.tv_nsec += 230000007 + 10000000 * how;
        time.tv_sec += time.tv_nsec / 1000000000;
        time.tv_nsec %= 1000000000;
        double end = time.tv_sec + time.tv_nsec * 1e-9;
        int got;
        while ((got = wait_until(how, &time)) == 0 || got == EINTR)
            ;
        double late = seconds(clock) - end;
        if (got != ETIMEDOUT || late < -1e-6 || late > 3) {
            fprintf(stderr, "way %d, round %d: %d, %g s late\n", how, n, got, late);
            _exit(97);
        }
    }
    if (how < 2)
        pthread_mutex_unlock(&own[how]);
    return 0;
}

int main(void)
{
    be_a_rank();
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    require(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&counting, &attributes) == 0);
    require(sem_init(&semaphore, 0, 0) == 0 && pthread_mutex_lock(&held) == 0 && pthread_rwlock_wrlock(&read_write) == 0);
    pthread_t threads[WAYS];
    for (intptr_t n = 0; n < WAYS; n++)
        require(pthread_create(threads + n, 0, waiter, (void *)n) == 0);
    double last[4] = { 0 }, begin = seconds(CLOCK_MONOTONIC);
    while (seconds(CLOCK_MONOTONIC) < begin + 1.5) {
        for (int n = 0; n < 4; n++) {
            double now = seconds(all[n]);
            require(now >= last[n] && (last[n] == 0 || now < last[n] + 60));
            last[n] = now;
        }
        struct timespec raw;
        require(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &raw) == 0);
        require(raw.tv_sec + raw.tv_nsec * 1e-9 >= last[0] - 1e-6);
    }
    for (int n = 0; n < WAYS; n++)
        require(pthread_join(threads[n], 0) == 0);
    require(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, 0, 0, ~0u) == -1 && errno == EAGAIN);
    printf("%d\n", images_restored);
    return 0;
}
