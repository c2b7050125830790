/* Loads and unloads libraries and runs commands, all the time. Images are taken inside the dynamic
 * linker, whose locks name their owner by thread id. usage: loader STEPS FOLDER */
#include "rank.h"
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    require(argc == 3 && chdir(argv[2]) == 0);
    be_a_rank();
    FILE *text = fopen("text", "w+");
    int log = open("log", O_RDWR | O_CREAT, 0600);
    require(text && log >= 0 && ftruncate(log, 4096) == 0);
    /* Shared memory of a file is not part of the image, so all writes must be idempotent. */
    volatile uint32_t *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, log, 0);
    require(shared != MAP_FAILED);
    double sum = 0;
    for (int step = 0; step < atoi(argv[1]); step++) {
        void *math = dlopen(step % 2 ? "libanl.so.1" : "libutil.so.1", RTLD_NOW | RTLD_LOCAL);
        require(math);
        void *other = dlopen("libresolv.so.2", RTLD_NOW);
        require(other && dlsym(other, "ns_get16"));
        double (*root)(double) = (double (*)(double))dlsym(RTLD_DEFAULT, "sqrt");
        sum += root ? root(step) : step;
        require(dlclose(math) == 0 && dlclose(other) == 0);
        if (step % 200 == 0)
            require(system("true") == 0);
        shared[step % 1024] = step;
        require(shared[step % 1024] == (uint32_t)step);
        fprintf(text, "%d\n", step);
    }
    require(fclose(text) == 0);
    printf("%f\n", sum);
    return 3;
}
