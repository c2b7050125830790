/* The thread that takes an image ends at once: the image is complete, and the process goes on.
 * usage: leaver */
#include "rank.h"
#include <pthread.h>

enum { WORDS = 16 << 20 };

static void *take_one_and_end(void *none)
{
    while (!images_taken && !images_restored) {
        serve();
        usleep(1000);
    }
    return none;
}

int main(void)
{
    uint64_t *memory = malloc(WORDS * sizeof *memory), sum = 0;
    require(memory != NULL);
    for (uint64_t i = 0; i < WORDS; i++)
        memory[i] = i * 6364136223846793005ull;
    hold = 1;
    be_a_rank();
    pthread_t thread;
    require(pthread_create(&thread, NULL, take_one_and_end, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (images_taken)
        sleep(60); /* the image streams */
    require(images_restored == 1);
    for (uint64_t i = 0; i < WORDS; i++)
        sum += memory[i] ^ i * 6364136223846793005ull;
    require(sum == 0);
    return 3;
}
