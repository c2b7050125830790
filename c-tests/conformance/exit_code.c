/* A program that ends well for MPI and with an error for its user: expected exit code 3. Rank 0
 * reads all of standard input. */
#include "../check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "exit_code");
    if (check_rank == 0) {
        char line[200];
        long lines = 0, sum = 0;
        while (fgets(line, sizeof line, stdin)) {
            lines++;
            sum += strtol(line, NULL, 10);
        }
        printf("%ld lines, sum %ld\n", lines, sum);
    }
    int code = check_end();
    return code ? code : 3;
}
