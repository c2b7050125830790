/* Replaces its standard streams and appends to files. usage: streams FOLDER */
#include "rank.h"

static void append(int fd, const char *line) { require(write(fd, line, strlen(line)) == (ssize_t)strlen(line)); }

int main(int argc, char **argv)
{
    require(argc == 2 && chdir(argv[1]) == 0);
    int old_out = dup(1), old_err = dup(2);
    /* Standard output becomes a file, standard error the old standard output, input is closed. */
    require(freopen("out", "w", stdout));
    require(dup2(old_out, 2) == 2);
    int own = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int common = open("common", O_WRONLY | O_CREAT | O_APPEND, 0600);
    close(0);
    be_a_rank();
    printf("one\n");
    fflush(stdout);
    append(own, "one\n");
    append(common, "one\n");
    while (images_taken + images_restored == 0)
        usleep(1000);
    usleep(200000); /* the image child looks at the files */
    printf("two\n");
    fflush(stdout);
    append(own, "two\n");
    append(common, "two\n");
    if (images_restored == 0)
        for (;;)
            usleep(1000);
    require(fcntl(0, F_GETFD) == -1 && errno == EBADF);
    append(2, "to the old output\n");
    append(old_err, "to the old error\n");
    return 0;
}
