/* Has a small file open for reading and writing, and prints what is in it after a restore.
 * usage: keeper FOLDER [BYTES], BYTES: zeros that follow the text */
#include "rank.h"

int main(int argc, char **argv)
{
    require(argc >= 2 && chdir(argv[1]) == 0);
    char have[64] = { 0 };
    int base = open("base", O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(write(base, "image", 5) == 5);
    for (long more = argc > 2 ? atol(argv[2]) : 0; more > 0; more--)
        require(write(base, "", 1) == 1);
    long end = lseek(base, 0, SEEK_CUR);
    be_a_rank();
    while (images_taken + images_restored == 0)
        usleep(1000);
    while (images_restored == 0)
        usleep(1000);
    require(lseek(base, 0, SEEK_CUR) == end);
    require(pread(base, have, sizeof have - 1, 0) >= 0);
    printf("%s", have);
    return 0;
}
