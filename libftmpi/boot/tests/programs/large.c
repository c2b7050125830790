/* Much memory, written all the time. usage: large MEGABYTES ROUNDS */
#include "rank.h"

int main(int argc, char **argv)
{
    require(argc == 3);
    size_t words = (size_t)atoi(argv[1]) << 17;
    uint64_t *memory = malloc(words * 8), sum = 0;
    for (size_t i = 0; i < words; i++)
        memory[i] = i * 0x9e3779b97f4a7c15ull;
    be_a_rank();
    for (int round = 0; round < atoi(argv[2]); round++) {
        usleep(100000);
        for (size_t i = round; i < words; i += 512 * 7)
            memory[i] += round;
    }
    for (size_t i = 0; i < words; i++)
        sum = (sum ^ memory[i]) * 1099511628211ull;
    printf("%016lx\n", sum);
    return 3;
}
