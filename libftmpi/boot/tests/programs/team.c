/* A team of OpenMP threads, with the constructs that keep state in the runtime. usage: team STEPS
 * FOLDER */
#include "rank.h"
#include <omp.h>

#define WORDS 20000
static double field[WORDS], other[WORDS];

int main(int argc, char **argv)
{
    require(argc == 3);
    omp_set_num_threads(3);
    be_a_rank();
    for (int i = 0; i < WORDS; i++)
        field[i] = i % 100;
    uint64_t sum = 0, critical = 0, tasks = 0;
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    for (int step = 0; step < atoi(argv[1]); step++) {
#pragma omp parallel
        {
#pragma omp for schedule(dynamic, 64)
            for (int i = 0; i < WORDS; i++)
                other[i] = 0.5 * field[i] + 0.25 * (field[(i + 1) % WORDS] + field[(i + WORDS - 1) % WORDS]);
#pragma omp for schedule(static)
            for (int i = 0; i < WORDS; i++)
                field[i] = other[i];
            omp_set_nest_lock(&lock);
            omp_set_nest_lock(&lock);
            critical++;
            omp_unset_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
#pragma omp single
            for (int i = 0; i < 4; i++)
#pragma omp task
            {
#pragma omp atomic
                tasks += i;
            }
        }
        uint64_t total = 0;
#pragma omp parallel for reduction(+ : total) num_threads(2 + step % 3)
        for (int i = 0; i < WORDS; i++)
            total += (uint64_t)(field[i] * 1000);
        sum = (sum ^ total) * 1099511628211ull;
    }
    require(critical == (uint64_t)atoi(argv[1]) * 3 && tasks == (uint64_t)atoi(argv[1]) * 6);
    printf("%016lx\n", sum);
    return 3;
}
