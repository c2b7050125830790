/* A child that a rank forks after MPI_Finalize ends with exit(). The child is not the rank,
 * which ends later. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "exit_child");
    int problems = check_end();
    /* One child after the other, while all other ranks still run. */
    usleep(20000 * (unsigned)check_rank);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(i);
        int status = -1;
        for (int tenths = 0; tenths < 200 && waitpid(child, &status, WNOHANG) == 0; tenths++)
            usleep(100000);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != i) {
            fprintf(stderr, "FAIL %s: rank %d: child %d has not ended by itself\n", __FILE__, check_rank, i);
            kill(child, SIGKILL);
            problems = 1;
        }
    }
    return problems;
}
