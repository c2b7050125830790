/* Programs of items. An item sets something up, and at each step checks that it is as it was left,
 * and changes it. The program prints a sum over everything that it saw. usage: PROGRAM ITEM STEPS
 * FOLDER */
#include "rank.h"

struct item { const char *name; void (*begin)(void); void (*step)(int); };
#define ITEM(name) { #name, name##_begin, name##_step }

static uint64_t state = 88172645463325252ull, sum = 14695981039346656037ull;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void mix(uint64_t word) { sum = (sum ^ word) * 1099511628211ull; }

static void spin(int rounds)
{
    for (int i = 0; i < rounds; i++)
        mix(next());
}

/* No image is taken between undisturbed(1) and undisturbed(0): the program could not repeat part
 * of a change of files, and a file of /proc that is read in pieces is of one incarnation. */
__attribute__((unused)) static void undisturbed(int begins)
{
    hold = begins;
    if (!begins && asked) {
        asked = 0;
        serve();
    }
}

static int run(int argc, char **argv, const struct item *items, size_t count)
{
    require(argc == 4 && chdir(argv[3]) == 0);
    be_a_rank();
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].name, argv[1]) == 0) {
            items[i].begin();
            for (int step = 0; step < atoi(argv[2]); step++)
                items[i].step(step);
            printf("%016lx\n", sum);
            return 3;
        }
    return 97;
}
