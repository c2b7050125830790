/* What the kernel keeps for descriptors and memory in addition to their contents. */
#include "items.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Owners of descriptors, leases, seals and modes of memfds, hundreds of locks, a lock on a folder. */
enum { LOCKS = 300 };
static int alarmed[2], plain, leased, sealed, half_sealed, many, locked_folder, gone_locked;
static volatile char *writable, *readable;
static volatile int rung;
static void on_ready(int signal, siginfo_t *info, void *context)
{
    (void)context;
    require(signal == SIGRTMIN + 5 && info->si_fd == alarmed[0] && info->si_code == POLL_IN);
    rung++;
}
static void lock_range(int file, int command, long at, short type)
{
    struct flock part = { .l_type = type, .l_start = at, .l_len = 3 };
    require(fcntl(file, command, &part) == 0);
}
static void owners_begin(void)
{
    struct sigaction action = { .sa_sigaction = on_ready, .sa_flags = SA_SIGINFO | SA_RESTART };
    require(sigaction(SIGRTMIN + 5, &action, 0) == 0);
    require(pipe(alarmed) == 0);
    int result;
    do {
        /* An image may be taken between the call that gives the id and its use. */
        struct f_owner_ex me = { F_OWNER_TID, syscall(SYS_gettid) };
        result = fcntl(alarmed[0], F_SETOWN_EX, &me);
    } while (result == -1 && errno == ESRCH);
    require(result == 0 && fcntl(alarmed[0], F_SETSIG, SIGRTMIN + 5) == 0);
    require(fcntl(alarmed[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0);
    plain = open("plain", O_CREAT | O_RDWR, 0600);
    require(plain >= 0 && fcntl(plain, F_SETOWN, -getpgrp()) == 0);
    leased = open("leased", O_CREAT | O_RDWR, 0600);
    /* The file has no owner; the image child of an earlier incarnation may have it open for a
     * moment. */
    while (fcntl(leased, F_SETLEASE, F_WRLCK) != 0)
        require(errno == EAGAIN);
    require(fcntl(leased, F_SETOWN, 0) == 0);
    sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
    require(sealed >= 0 && ftruncate(sealed, 8192) == 0 && pwrite(sealed, "for ever", 8, 4096) == 8);
    require(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0);
    half_sealed = memfd_create("half", MFD_ALLOW_SEALING);
    require(half_sealed >= 0 && ftruncate(half_sealed, 8192) == 0);
    writable = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, half_sealed, 0);
    require(writable != MAP_FAILED && fchmod(half_sealed, 0400) == 0);
    require(fcntl(half_sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
    readable = mmap(0, 8192, PROT_READ, MAP_SHARED, sealed, 0);
    require(readable != MAP_FAILED);
    many = open("many", O_CREAT | O_RDWR, 0600);
    require(many >= 0);
    for (long n = 0; n < LOCKS; n++)
        lock_range(many, n % 2 ? F_SETLK : F_OFD_SETLK, n * 8, n % 3 ? F_WRLCK : F_RDLCK);
    locked_folder = open(".", O_RDONLY | O_DIRECTORY);
    require(locked_folder >= 0);
    while (flock(locked_folder, LOCK_EX | LOCK_NB) != 0)
        require(errno == EWOULDBLOCK);
    gone_locked = open("gone locked", O_CREAT | O_RDWR, 0600);
    require(gone_locked >= 0 && unlink("gone locked") == 0);
    lock_range(gone_locked, F_SETLK, 5, F_WRLCK);
}
/* The locks of this process on a file: POSIX, open file, flock. (The image child shares the open
 * file. For a moment it takes a lease, to find out whether another process has the file open.) */
static void count_locks(int file, int of[3])
{
    char path[64], line[256];
    sprintf(path, "/proc/self/fdinfo/%d", file);
    FILE *info = fopen(path, "r");
    require(info);
    of[0] = of[1] = of[2] = 0;
    while (fgets(line, sizeof line, info))
        if (strncmp(line, "lock:", 5) == 0 && !strstr(line, "LEASE"))
            of[strstr(line, "POSIX") ? 0 : strstr(line, "OFDLCK") ? 1 : 2]++;
    fclose(info);
}
static void owners_step(int step)
{
    spin(50);
    struct f_owner_ex owner;
    int number;
    require(fcntl(alarmed[0], F_GETSIG) == SIGRTMIN + 5 && fcntl(alarmed[0], F_GETFL) & O_ASYNC);
    do {
        number = syscall(SYS_gettid);
        require(fcntl(alarmed[0], F_GETOWN_EX, &owner) == 0);
    } while (number != syscall(SYS_gettid));
    require(owner.type == F_OWNER_TID && owner.pid == number);
    require(fcntl(plain, F_GETOWN) == -getpgrp() && fcntl(plain, F_GETSIG) == 0);
    int before = rung;
    char byte = 7;
    require(write(alarmed[1], &byte, 1) == 1);
    for (int patience = 0; rung == before; patience++) {
        require(patience < 20000);
        usleep(100);
    }
    require(rung == before + 1 && read(alarmed[0], &byte, 1) == 1);
    require(fcntl(leased, F_GETLEASE) == F_WRLCK && fcntl(leased, F_GETOWN) == 0);
    require(fcntl(sealed, F_GET_SEALS) == (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL));
    require(memcmp((char *)readable + 4096, "for ever", 8) == 0 && write(sealed, "x", 1) == -1 && errno == EPERM);
    require(fcntl(half_sealed, F_GET_SEALS) == F_SEAL_FUTURE_WRITE && write(half_sealed, "x", 1) == -1 && errno == EPERM);
    struct stat stat;
    require(fstat(half_sealed, &stat) == 0 && (stat.st_mode & 07777) == 0400);
    require(writable[step % 8192] == (step < 8192 ? 0 : (char)(step - 8192)));
    writable[step % 8192] = step;
    if (step % 64 == 0) {
        int of[3];
        undisturbed(1);
        count_locks(many, of);
        require(of[0] == LOCKS / 2 && of[1] == LOCKS / 2 && of[2] == 0);
        count_locks(locked_folder, of);
        require(of[0] == 0 && of[1] == 0 && of[2] == 1);
        count_locks(gone_locked, of);
        require(of[0] == 1 && of[1] == 0 && of[2] == 0);
        undisturbed(0);
        /* One lock is released and taken again. */
        lock_range(many, F_OFD_SETLK, 8 * (step / 64 % LOCKS & ~1), F_UNLCK);
        lock_range(many, F_OFD_SETLK, 8 * (step / 64 % LOCKS & ~1), step / 64 % LOCKS / 2 * 2 % 3 ? F_WRLCK : F_RDLCK);
    }
}

/* Attributes of memory: locked, not forked, wiped on fork, mergeable, guard pages, droppable. */
enum { ADVICE_BYTES = 16 * 4096 };
static char *advised[7];
static uint64_t advised_word[7];
static int has_guards;
static void advice_begin(void)
{
    for (int i = 0; i < 7; i++) {
        /* Pages without access lie between them: otherwise neighbours would become one mapping. */
        char *all = mmap(0, ADVICE_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(all != MAP_FAILED && mprotect(all + 4096, ADVICE_BYTES, PROT_READ | PROT_WRITE) == 0);
        advised[i] = all + 4096;
        memset(advised[i], 3, ADVICE_BYTES);
    }
    require(mlock(advised[0], ADVICE_BYTES) == 0 && mlock2(advised[1], ADVICE_BYTES, MLOCK_ONFAULT) == 0);
    require(madvise(advised[2], ADVICE_BYTES, MADV_DONTFORK) == 0);
    require(madvise(advised[3], ADVICE_BYTES, MADV_WIPEONFORK) == 0);
    require(madvise(advised[4], ADVICE_BYTES, MADV_MERGEABLE) == 0 || errno == EINVAL);
    require(madvise(advised[5], ADVICE_BYTES, MADV_DONTDUMP) == 0);
    has_guards = madvise(advised[6] + 4096, 8192, 102) == 0;
}
static void flags_of(const char *at, char *into)
{
    char line[512];
    unsigned long from, to, found = 0;
    into[0] = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    require(maps);
    while (!into[0] && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            found = from <= (unsigned long)at && (unsigned long)at < to;
        else if (found && strncmp(line, "VmFlags:", 8) == 0)
            strcpy(into, line + 8);
    fclose(maps);
}
static volatile int guard_hit;
static sigjmp_buf guard_back;
static void on_guard(int signal)
{
    guard_hit = signal;
    siglongjmp(guard_back, 1);
}
static void advice_step(int step)
{
    int at = next() % 7;
    volatile uint64_t *word = (uint64_t *)(advised[at] + ADVICE_BYTES - 8);
    require(*word == (advised_word[at] ? advised_word[at] : 0x0303030303030303ull));
    *word = advised_word[at] = next() | 1;
    spin(100);
    if (step % 512)
        return;
    char flags[512];
    undisturbed(1);
    flags_of(advised[0], flags);
    require(strstr(flags, " lo ") && !strstr(flags, " lf "));
    flags_of(advised[1], flags);
    require(strstr(flags, " lo "));
    flags_of(advised[2], flags);
    require(strstr(flags, " dc "));
    flags_of(advised[3], flags);
    require(strstr(flags, " wf "));
    flags_of(advised[5], flags);
    require(strstr(flags, " dd "));
    /* A child of the program sees what the attributes say. */
    pid_t child = fork();
    if (child == 0) {
        unsigned char there;
        uint64_t *wiped = (uint64_t *)(advised[3] + ADVICE_BYTES - 8);
        _exit(*wiped != 0 || mincore(advised[2], 4096, &there) == 0 || errno != ENOMEM);
    }
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    undisturbed(0);
    if (has_guards) {
        struct sigaction action = { .sa_handler = on_guard }, old;
        require(sigaction(SIGSEGV, &action, &old) == 0);
        guard_hit = 0;
        if (sigsetjmp(guard_back, 1) == 0)
            *(volatile char *)(advised[6] + 4096 + 4096 * (step / 512 % 2)) = 1;
        require(guard_hit == SIGSEGV && sigaction(SIGSEGV, &old, 0) == 0);
        require(advised[6][4095] == 3 && advised[6][12288] == 3);
    }
}

static const struct item items[] = { ITEM(owners), ITEM(advice) };

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
