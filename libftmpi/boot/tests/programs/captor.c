/* A thread that is not the main thread takes the images: each thread comes back as itself. The
 * thread calls its hooks while all others stand still: the others do not move until it lets them
 * go, nor in an incarnation that begins from the image.
 * usage: captor STEPS FOLDER */
#define _GNU_SOURCE
#include "rank.h"
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

enum { OTHERS = 2 };
static volatile uint64_t steps[OTHERS + 1], noted[OTHERS + 1];
static volatile int over, calls[3];
static __thread uint64_t mine;

static int was_main(void) { return syscall(SYS_gettid) == getpid(); }

/* After a restore between the two calls the id is another one at the second call. */
static int is_main(void) { return was_main() || was_main(); }

static void step(int who)
{
    mine = mine * 6364136223846793005ull + (uint64_t)who;
    steps[who]++;
}

/* Long enough for a thread to move that may move. */
static void look_away(void)
{
    struct timespec t = { 0, 3000000 };
    nanosleep(&t, NULL);
}

static int stopped(void *context)
{
    require(context == (void *)calls && !is_main());
    for (int i = 0; i <= OTHERS; i++)
        noted[i] = steps[i];
    calls[0]++;
    return 0;
}

static void made(void *context)
{
    require(context == (void *)calls);
    look_away();
    for (int i = 0; i <= OTHERS; i++)
        require(noted[i] == steps[i]);
    calls[1]++;
}

static void restored(void *context)
{
    require(context == (void *)calls && !is_main());
    look_away();
    for (int i = 0; i <= OTHERS; i++)
        require(noted[i] == steps[i]);
    calls[2]++;
}

static void *takes(void *unused)
{
    uint64_t before = mine = 77;
    while (!over) {
        serve();
        require(mine == before && !is_main());
        usleep(100);
    }
    return unused;
}

static void *works(void *number)
{
    int who = (int)(intptr_t)number;
    while (!over)
        step(who);
    require(!is_main());
    return NULL;
}

int main(int argc, char **argv)
{
    require(argc == 3);
    long count = atol(argv[1]);
    pthread_t taker, other[OTHERS];
    hold = 1;
    on_stopped = stopped;
    on_made = made;
    on_restored = restored;
    hook_context = (void *)calls;
    be_a_rank();
    pthread_create(&taker, NULL, takes, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&other[i], NULL, works, (void *)(intptr_t)(i + 1));
    for (long k = 0; k < count; k++) {
        step(0);
        require(is_main() && steps[0] == (uint64_t)k + 1);
        usleep(50);
    }
    over = 1;
    pthread_join(taker, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(other[i], NULL);
    require(calls[2] == images_restored);
    printf("%llx\n", (unsigned long long)mine);
    return 3;
}
