/* Has files open that are removed, renamed and replaced after the image. usage: remaker FOLDER */
#include "rank.h"
#include <sys/stat.h>

static void put(int fd, const char *text) { require(write(fd, text, strlen(text)) == (ssize_t)strlen(text)); }

static int make(const char *name, int flags, const char *text)
{
    int fd = open(name, O_CREAT | O_EXCL | flags, 0600);
    require(fd >= 0);
    put(fd, text);
    return fd;
}

static void expect(int fd, const char *text)
{
    char have[64] = { 0 };
    require(read(fd, have, sizeof have - 1) == (ssize_t)strlen(text) && strcmp(have, text) == 0);
}

int main(int argc, char **argv)
{
    require(argc == 2 && chdir(argv[1]) == 0);
    close(make("scratch", O_WRONLY, "first half, second half"));
    int scratch = open("scratch", O_RDONLY);
    char half[12];
    require(read(scratch, half, 12) == 12);
    int out = make("result.tmp", O_WRONLY, "one\n");
    int log = make("log", O_WRONLY | O_APPEND, "one\n");
    int gone = make("gone", O_RDWR, "one\n");
    require(unlink("gone") == 0);
    int locked = make("locked", O_RDWR, "one\n");
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    require(fcntl(locked, F_SETLK, &lock) == 0);
    be_a_rank();
    while (images_taken + images_restored == 0)
        usleep(1000);
    usleep(200000); /* the image child looks at the files */
    if (images_restored == 0) {
        /* What the program goes on to do. */
        require(unlink("scratch") == 0);
        close(make("scratch", O_WRONLY, "FIRST HALF, SECOND HALF"));
        put(out, "two\n");
        require(rename("result.tmp", "result") == 0);
        require(rename("log", "log.1") == 0);
        put(log, "two\n");
        for (;;)
            usleep(1000);
    }
    expect(scratch, "second half");
    put(out, "two\n");
    require(rename("result.tmp", "result") == 0);
    put(log, "two\n");
    require(lseek(gone, 0, SEEK_SET) == 0);
    expect(gone, "one\n");
    struct stat stat;
    require(fstat(gone, &stat) == 0 && stat.st_nlink == 0);
    return 0;
}
