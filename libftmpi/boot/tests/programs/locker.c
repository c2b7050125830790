/* Holds locks of three kinds. A restored process waits for the file "go". usage: locker FOLDER */
#include "rank.h"
#include <sys/file.h>

int main(int argc, char **argv)
{
    require(argc == 2 && chdir(argv[1]) == 0);
    int a = open("a", O_RDWR | O_CREAT, 0600), b = open("b", O_RDWR | O_CREAT, 0600);
    int c = open("c", O_RDWR | O_CREAT, 0600), again = open("b", O_RDONLY);
    struct flock part = { .l_type = F_WRLCK, .l_start = 10, .l_len = 10 };
    struct flock rest = { .l_type = F_RDLCK, .l_start = 100 };
    require(a >= 0 && b >= 0 && c >= 0 && again >= 0);
    require(flock(a, LOCK_EX) == 0);
    require(fcntl(b, F_SETLK, &part) == 0);
    part.l_start = 30;
    require(fcntl(b, F_SETLK, &part) == 0);
    require(fcntl(c, F_OFD_SETLK, &rest) == 0);
    be_a_rank();
    while (images_taken + images_restored == 0)
        usleep(1000);
    while (images_restored == 0)
        usleep(1000);
    close(open("here", O_CREAT | O_WRONLY, 0600));
    while (access("go", F_OK) != 0)
        usleep(1000);
    /* The lock can be released and taken again. */
    require(flock(a, LOCK_UN) == 0 && flock(a, LOCK_SH) == 0);
    return 0;
}
