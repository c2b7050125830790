/* Odd programs: own stacks, own code, many threads, other process groups. */
#include "items.h"
#include <dlfcn.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

/* A signal stack that is disabled while it is in use (SS_AUTODISARM), and one that is not. */
enum { OTHER_STACK = 1 << 16 };
static char *other_stack;
static int disarms;
static volatile int handled;
static void on_other(int signal)
{
    char here;
    stack_t now;
    require(&here > other_stack && &here < other_stack + OTHER_STACK);
    require(sigaltstack(0, &now) == 0);
    require(disarms ? now.ss_flags & SS_DISABLE : now.ss_flags == SS_ONSTACK);
    spin(3000);
    require(sigaltstack(0, &now) == 0);
    require(disarms ? now.ss_flags & SS_DISABLE : now.ss_flags == SS_ONSTACK);
    handled += signal == SIGUSR1;
}
static void alternate_begin(void)
{
    other_stack = malloc(OTHER_STACK);
    struct sigaction action = { .sa_handler = on_other, .sa_flags = SA_ONSTACK };
    require(sigaction(SIGUSR1, &action, 0) == 0);
}
static void alternate_step(int step)
{
    disarms = step / 8 % 2;
    stack_t stack = { .ss_sp = other_stack, .ss_size = OTHER_STACK, .ss_flags = disarms ? 1 << 31 : 0 }, now;
    require(sigaltstack(&stack, 0) == 0);
    int before = handled;
    raise(SIGUSR1);
    require(handled == before + 1 && sigaltstack(0, &now) == 0);
    require(now.ss_sp == other_stack && now.ss_size == OTHER_STACK && !(now.ss_flags & SS_DISABLE));
}

/* Coroutines on stacks of the heap, and jumps out of deep calls. */
enum { COROUTINES = 4 };
static ucontext_t back, coroutine[COROUTINES];
static uint64_t inside[COROUTINES];
static void work(int who)
{
    for (uint64_t local = who;; local = local * 6364136223846793005ull + 1) {
        inside[who] = local;
        spin(200);
        require(inside[who] == local);
        swapcontext(&coroutine[who], &back);
    }
}
static void coroutines_begin(void)
{
    for (int who = 0; who < COROUTINES; who++) {
        require(getcontext(&coroutine[who]) == 0);
        coroutine[who].uc_stack.ss_sp = malloc(1 << 16);
        coroutine[who].uc_stack.ss_size = 1 << 16;
        makecontext(&coroutine[who], (void (*)(void))work, 1, who);
    }
}
static jmp_buf out;
static void fall(volatile int depth, uint64_t word)
{
    volatile uint64_t room[64];
    room[depth % 64] = word;
    if (depth <= 0)
        longjmp(out, 5);
    fall(depth - 1, word * 3);
    require(room[depth % 64] == word);
}
static void coroutines_step(int step)
{
    require(swapcontext(&back, &coroutine[step % COROUTINES]) == 0);
    mix(inside[step % COROUTINES]);
    int jumped = setjmp(out);
    if (jumped == 0) {
        spin(300);
        fall(step % 50, step);
    }
    require(jumped == 5);
}

/* The stack grows beyond the limit that the program began with. */
static uint64_t deep(int depth, uint64_t word)
{
    volatile char room[1 << 16];
    room[0] = room[sizeof room - 1] = (char)word;
    if (depth == 0)
        spin(20000);
    uint64_t below = depth ? deep(depth - 1, word * 5 + 1) : word;
    require(room[0] == (char)word && room[sizeof room - 1] == (char)word);
    return below;
}
static int may_grow;
static void grown_begin(void)
{
    struct rlimit limit;
    require(getrlimit(RLIMIT_STACK, &limit) == 0);
    may_grow = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= 64 << 20;
    limit.rlim_cur = 64 << 20;
    require(!may_grow || setrlimit(RLIMIT_STACK, &limit) == 0);
}
static void grown_step(int step)
{
    struct rlimit limit;
    require(getrlimit(RLIMIT_STACK, &limit) == 0 && (!may_grow || limit.rlim_cur == 64 << 20));
    mix(deep(may_grow ? 400 + step % 100 : 20, next()));
}

/* Memory that grows downwards, code that the program writes, memory that may be written but not
 * read. */
enum { DOWN = 64 };
static volatile char *down, *code_page, *blind;
static int reached;
static void made_begin(void)
{
    char *all = mmap(0, 1 << 22, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(all != MAP_FAILED && munmap(all, 1 << 22) == 0);
    down = mmap(all + (1 << 22) - 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
    require(down == all + (1 << 22) - 4096);
    down[0] = 1;
    code_page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    blind = mmap(0, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(code_page != MAP_FAILED && blind != MAP_FAILED);
}
static void made_step(int step)
{
    if (step % 40 == 0 && reached < DOWN)
    {
        reached++;
        down[-4096L * reached] = (char)(reached + 1);
    }
    for (int at = 0; at <= reached; at++)
        require(down[-4096L * at] == (char)(at + 1));
    /* mov eax, STEP; ret */
    unsigned char code[6] = { 0xb8, step, step >> 8, step >> 16, step >> 24, 0xc3 };
    memcpy((char *)code_page, code, sizeof code);
    require(mprotect((char *)code_page, 4096, step % 2 ? PROT_EXEC : PROT_READ | PROT_EXEC) == 0);
    spin(300);
    require(((int (*)(void))code_page)() == step);
    require(mprotect((char *)code_page, 4096, PROT_READ | PROT_WRITE) == 0 && code_page[1] == (char)step);
    blind[step % 4096] = 1;
}

/* Two hundred threads, each with its own state. */
enum { MANY = 200 };
static pthread_t many[MANY];
static pthread_barrier_t all_there;
static __thread uint64_t mine;
static volatile uint64_t seen[MANY];
static void *one_of_many(void *number)
{
    long who = (long)number;
    mine = who * 77 + 1;
    for (uint64_t count = 0;; count++) {
        require(mine == who * 77 + 1 + count);
        mine++;
        seen[who] = mine;
        pthread_barrier_wait(&all_there);
    }
    return number;
}
static void many_begin(void)
{
    pthread_attr_t small;
    require(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 17) == 0);
    require(pthread_barrier_init(&all_there, 0, MANY + 1) == 0);
    for (long who = 0; who < MANY; who++)
        require(pthread_create(&many[who], &small, one_of_many, (void *)who) == 0);
}
static void many_step(int step)
{
    pthread_barrier_wait(&all_there);
    mix(seen[step % MANY] >= (uint64_t)(step % MANY) * 77 + 1 + step);
}

/* Registered memory barriers, the process's own memory as a file, timers on its processor time. */
static int own_memory;
static volatile uint64_t seen_through = 1;
static volatile int profiled, virtual;
static void on_time(int signal)
{
    if (signal == SIGPROF)
        profiled++;
    else
        virtual++;
}
static int barrier_registered;
static void process_begin(void)
{
    barrier_registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    own_memory = open("/proc/self/mem", O_RDWR);
    require(own_memory >= 0);
    struct sigaction action = { .sa_handler = on_time, .sa_flags = SA_RESTART };
    require(sigaction(SIGPROF, &action, 0) == 0 && sigaction(SIGVTALRM, &action, 0) == 0);
    struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
    require(setitimer(ITIMER_PROF, &every, 0) == 0 && setitimer(ITIMER_VIRTUAL, &every, 0) == 0);
    require(fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK) == 0 && fcntl(0, F_SETFD, FD_CLOEXEC) == 0);
}
static void process_step(int step)
{
    if (barrier_registered)
        require(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
    uint64_t word = 0, at = (uint64_t)(uintptr_t)&seen_through;
    require(pread(own_memory, &word, 8, at) == 8 && word == seen_through);
    word = step + 2;
    require(pwrite(own_memory, &word, 8, at) == 8 && seen_through == word);
    require(fcntl(1, F_GETFL) & O_NONBLOCK && fcntl(0, F_GETFD) == FD_CLOEXEC && fcntl(1, F_GETFD) == 0);
    struct itimerval now;
    require(getitimer(ITIMER_PROF, &now) == 0 && now.it_interval.tv_usec == 20000);
    require(getitimer(ITIMER_VIRTUAL, &now) == 0 && now.it_interval.tv_usec == 20000);
    spin(300);
    if (step % 2000 == 1999) {
        int before = profiled + virtual;
        while (profiled + virtual < before + 2)
            spin(1000);
    }
    /* The timer has counted with the time. */
    sum = step;
}

/* Thread-local variables of a library that was loaded while the program ran. */
static uint64_t *(*of_library)(void);
static pthread_t second;
static volatile uint64_t second_count;
static void *also_uses_it(void *none)
{
    for (uint64_t count = 7;; count++) {
        uint64_t *variable = of_library();
        require(*variable == (count == 7 ? 41 : count));
        *variable = count + 1;
        second_count = count;
        usleep(50);
    }
    return none;
}
static void library_begin(void)
{
    void *library = dlopen("../libodd.so", RTLD_NOW | RTLD_LOCAL);
    require(library && (of_library = (uint64_t * (*)(void)) dlsym(library, "odd_variable")));
    require(pthread_create(&second, 0, also_uses_it, 0) == 0);
}
static void library_step(int step)
{
    uint64_t *variable = of_library();
    require(*variable == (step ? (uint64_t)step : 41));
    *variable = step + 1;
    spin(400);
}

/* Closes all descriptors that it did not open. (A child that an image contains begins again without the library's.) */
static uint64_t kept[1024];
static int closed_in_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit((close(1000) != 0 && errno != EBADF) || fcntl(1000, F_GETFD) != -1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
static void closing_begin(void)
{
    kept[1000 / 64] |= 3ull << 1000 % 64;
    boot->keep_open(kept, sizeof kept / sizeof *kept);
}
static void closing_step(int step)
{
    require(close(1000) == -1 && errno == EBADF);
    require(dup2(1, 1001) == -1 && errno == EBADF);
    require(dup3(1, 1000, O_CLOEXEC) == -1 && errno == EBADF);
    /* (For moments the stream of an image has a lower number.) */
    require(close_range(900, step % 2 ? 1000 : ~0u, 0) == 0);
    closefrom(999);
    int other = dup2(1, 999);
    require(other == 999 && close(999) == 0 && close(999) == -1);
    require(step % 100 || closed_in_child());
    sum = step;
}

static const struct item items[] = {
    ITEM(alternate), ITEM(coroutines), ITEM(grown), ITEM(made), ITEM(many), ITEM(process), ITEM(library),
    ITEM(closing),
};

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
