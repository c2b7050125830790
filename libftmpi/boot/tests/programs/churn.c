/* Computes with everything that an image must bring back, and checks it all the time.
 * usage: churn STEPS FOLDER */
#include "rank.h"
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

static __thread uint64_t of_thread = 17;
static uint64_t state = 88172645463325252ull;
static uint64_t sum = 14695981039346656037ull;
static volatile uint64_t alarms, faults;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void mix(uint64_t word) { sum = (sum ^ word) * 1099511628211ull; }

static void on_alarm(int signal) { (void)signal; alarms++; }

static char *guarded;
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal; (void)context;
    /* On the alternative stack: makes the page readable; the load is repeated. */
    require((char *)info->si_addr == guarded);
    faults++;
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

#define BLOCKS 400
static struct { unsigned char *at; size_t len; unsigned char fill; } blocks[BLOCKS];

static void churn_heap(void)
{
    for (int i = 0; i < 40; i++) {
        int n = next() % BLOCKS;
        if (blocks[n].at) {
            for (size_t k = 0; k < blocks[n].len; k += 97)
                require(blocks[n].at[k] == blocks[n].fill);
            mix(blocks[n].len);
            free(blocks[n].at);
        }
        blocks[n].len = next() % (next() % 50 == 0 ? 600000 : 3000) + 1;
        blocks[n].fill = next();
        blocks[n].at = malloc(blocks[n].len);
        require(blocks[n].at);
        memset(blocks[n].at, blocks[n].fill, blocks[n].len);
    }
}

#define AREAS 12
static struct { unsigned char *at; size_t pages; int prot; unsigned char fill; int shared; } areas[AREAS];

static void churn_maps(void)
{
    int n = next() % AREAS;
    if (areas[n].at) {
        size_t len = areas[n].pages * 4096;
        require(mprotect(areas[n].at, len, PROT_READ | PROT_WRITE) == 0);
        for (size_t k = 0; k < len; k += 4096)
            require(areas[n].at[k] == areas[n].fill && areas[n].at[k + 4095] == areas[n].fill);
        require(munmap(areas[n].at, len) == 0);
    }
    areas[n].pages = next() % 40 + 1;
    areas[n].fill = next();
    areas[n].shared = next() % 4 == 0;
    size_t len = areas[n].pages * 4096;
    areas[n].at = mmap(0, len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (areas[n].shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
    require(areas[n].at != MAP_FAILED);
    memset(areas[n].at, areas[n].fill, len);
    static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
    require(mprotect(areas[n].at, len, prots[next() % 4]) == 0);
}

static uint64_t recurse(int depth, uint64_t word)
{
    volatile uint64_t room[64];
    for (int i = 0; i < 64; i++)
        room[i] = word + i * depth;
    uint64_t below = depth ? recurse(depth - 1, word * 3 + 1) : word;
    for (int i = 0; i < 64; i++)
        require(room[i] == word + (uint64_t)i * depth);
    return below ^ room[depth % 64];
}

static double values[512];
static void compute(void)
{
    long double slow = 1.0L;
    for (int i = 0; i < 512; i++) {
        values[i] = values[i] * 0.999 + sin(i + (double)(next() % 1000)) * 1e-3;
        slow += 1.0L / (i + 1.0L);
    }
    double total = 0;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 512; i++)
            total += values[i] * values[511 - i];
    mix((uint64_t)(int64_t)(total * 1e9));
    mix((uint64_t)(slow * 1e12L));
}

static char *sparse;

int main(int argc, char **argv)
{
    require(argc == 3);
    int steps = atoi(argv[1]);
    require(chdir(argv[2]) == 0);
    umask(027);
    be_a_rank();
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    require(sigaltstack(&stack, 0) == 0);
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, 0);
    struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaction(SIGSEGV, &fault, 0);
    struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
    setitimer(ITIMER_REAL, &timer, 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, 0);
    kill(getpid(), SIGUSR2);
    guarded = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sparse = mmap(0, 1ull << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(sparse != MAP_FAILED);
    FILE *text = fopen("text", "w+");
    require(text);
    /* Emptied: an incarnation from an image of an earlier moment finds what the one before it wrote. */
    int log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0600);
    int null = open("/dev/null", O_RDWR);
    int twin = dup(log), other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    require(log >= 0 && null >= 0 && twin >= 0 && other >= 0);
    int out = dup(1);
    long text_bytes = 0, log_bytes = 0;
    for (int step = 0; step < steps; step++) {
        hold = step % 3 == 0;
        churn_heap();
        churn_maps();
        compute();
        mix(recurse(next() % (step % 100 == 50 ? 6000 : 200), next()));
        of_thread = of_thread * 31 + 7;
        mix(of_thread);
        guarded[5] = step;
        mprotect(guarded, 4096, PROT_NONE);
        uint64_t before = faults;
        require(*(volatile char *)guarded == 0 && faults == before + 1 && guarded[5] == (char)step);
        uint64_t at = (next() % (1ull << 40)) & ~4095ull;
        if (step % 64 == 0) {
            sparse[at] = 1;
            mix(sparse[at]);
        }
        text_bytes += fprintf(text, "%d %016lx\n", step, sum);
        if (step % 16 == 0) {
            char line[64];
            int len = sprintf(line, "%d\n", step);
            require(write(step % 32 ? log : twin, line, len) == len);
            log_bytes += len;
            struct stat stat;
            require(fstat(log, &stat) == 0 && stat.st_size == log_bytes);
            fflush(text);
            require(fstat(fileno(text), &stat) == 0 && stat.st_size >= text_bytes);
            require(lseek(fileno(text), 0, SEEK_CUR) == text_bytes);
            require(lseek(other, 0, SEEK_CUR) == (step ? step / 16 * 8 : 0));
            char eight[8];
            require(read(other, eight, 8) == 8);
            require(fcntl(other, F_GETFD) == FD_CLOEXEC && fcntl(log, F_GETFD) == 0);
            require(umask(027) == 027);
            require(write(null, line, len) == len);
            sigset_t pending;
            sigpending(&pending);
            require(sigismember(&pending, SIGUSR2) == 1);
            char where[256];
            require(getcwd(where, sizeof where) && strcmp(where, argv[2]) == 0);
            require(toupper('x') == 'X');
        }
        hold = 0;
        if (asked) {
            asked = 0;
            serve();
        }
    }
    require(alarms > 0);
    struct itimerval left;
    require(getitimer(ITIMER_REAL, &left) == 0 && left.it_interval.tv_usec == 3000);
    require(fclose(text) == 0);
    /* A pipe to a child works again (system() waits for exactly one child). */
    require(system("exit 7") == 7 << 8);
    dprintf(out, "%016lx %ld %ld\n", sum, text_bytes, log_bytes);
    return images_restored > 200 ? 200 : 3;
}
