/* Memory whose contents are of no use: they stay in the process, and out of its images. */
#include "rank.h"
#include <sys/mman.h>

int main(void)
{
    size_t bytes = 32 << 20, words = bytes / 8;
    uint64_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED);
    for (size_t i = 0; i < words; i++)
        memory[i] = (i + 1) * 0x9e3779b97f4a7c15ull;
    /* Without the first and the last page. */
    useless[0] = (uint64_t)memory + 4096;
    useless[1] = (uint64_t)memory + bytes - 4096;
    be_a_rank();
    while (!images_restored) {
        for (size_t i = 0; i < words && !images_restored; i += 100)
            if (memory[i] != (i + 1) * 0x9e3779b97f4a7c15ull && !images_restored)
                require(!"the process itself keeps its contents");
        usleep(1000);
    }
    for (size_t i = 0; i < words; i++)
        if (i < 512 || i >= words - 512)
            require(memory[i] == (i + 1) * 0x9e3779b97f4a7c15ull);
        else
            require(memory[i] == 0);
    return 3;
}
