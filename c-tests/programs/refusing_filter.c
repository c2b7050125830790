/*
 * Starts a program under a filter that refuses system calls, as those of old containers do.
 * Arguments: the error number, the numbers of the calls, `--`, the program with its arguments.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CALLS_MAX = 60 };

int main(int argc, char **argv)
{
    struct sock_filter steps[2 * CALLS_MAX + 2];
    unsigned short count = 0;
    int at = 2;
    if (argc < 4)
        return 99;
    unsigned error = (unsigned)atoi(argv[1]);
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  offsetof(struct seccomp_data, nr));
    for (; at < argc && at < CALLS_MAX && strcmp(argv[at], "--"); at++) {
        steps[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                      (unsigned)atoi(argv[at]), 0, 1);
        steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {count, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 98;
}
