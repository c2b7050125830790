/* Its image is as that of a processor without AVX-512: the dynamic linker's areas for registers are as small as there.
 * (Not before, because the C library already uses the registers of AVX-512 for strings.) After a restore it uses all registers, and calls functions for the first time. usage: registers BYTES [small]
 *   BYTES: of the alternative stack
 *   small: the areas become small again, so that the test sees what must not happen */
#include "rank.h"
#include <elf.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <wchar.h>

/* What glibc computes for x87, SSE and AVX. */
enum { SMALL = 64 + 832 };

static unsigned char pattern[64] __attribute__((aligned(64)));
static volatile sig_atomic_t delivered;
static volatile int over;

/* The variable of the code that saves registers: `sub SIZE(%rip), %rsp`. */
static volatile uint64_t *area_size(void)
{
    const unsigned char *base = (const unsigned char *)getauxval(AT_BASE);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(base + header->e_phoff);
    for (int n = 0; n < header->e_phnum; n++) {
        const unsigned char *code = base + segment[n].p_vaddr, *end = code + segment[n].p_filesz - 7;
        for (; segment[n].p_type == PT_LOAD && segment[n].p_flags & PF_X && code < end; code++) {
            int32_t distance;
            memcpy(&distance, code + 3, sizeof distance);
            if (code[0] == 0x48 && code[1] == 0x2b && code[2] == 0x25)
                return (uint64_t *)(code + 7 + distance);
        }
    }
    return 0;
}

static volatile uint64_t *size;
static uint64_t here;

/* The dynamic linker leaves it read-only. */
static void set_size(uint64_t bytes)
{
    void *page = (void *)((uintptr_t)size & ~4095ul);
    require(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    *size = bytes;
    require(mprotect(page, 4096, PROT_READ) == 0);
}

static int stopped(void *unused)
{
    (void)unused;
    set_size(SMALL);
    return 0;
}

static void made(void *unused)
{
    (void)unused;
    set_size(here);
}

static void use_all(void)
{
    __asm__ volatile("vmovdqa64 (%0), %%zmm31\n vmovdqa64 (%0), %%zmm17\n vmovdqa64 (%0), %%zmm9\n kmovw %1, %%k3"
                     : : "r"(pattern), "r"(0x55) : "memory");
}

static void handler(int number)
{
    (void)number;
    use_all();
    delivered++;
}

/* Keeps a value in a register of AVX, and sleeps in between. */
static void *keeper(void *unused)
{
    unsigned char kept[32] __attribute__((aligned(32)));
    struct timespec pause = { 0, 2000000 };
    __asm__ volatile("vmovdqa (%1), %%ymm9\n"
                     "1: mov $35, %%eax\n mov %3, %%rdi\n xor %%esi, %%esi\n syscall\n"
                     "cmpl $0, (%2)\n je 1b\n vmovdqa %%ymm9, (%0)"
                     : : "r"(kept), "r"(pattern), "r"(&over), "r"(&pause)
                     : "xmm9", "rax", "rcx", "rdi", "rsi", "r11", "memory");
    require(memcmp(kept, pattern, sizeof kept) == 0);
    return unused;
}

#define FIRST_CALL(what)                                                                                                       \
    do {                                                                                                                       \
        volatile uint64_t guard[16];                                                                                           \
        for (uint64_t n = 0; n < 16; n++)                                                                                      \
            guard[n] = 0x1234567890 + n;                                                                                       \
        use_all();                                                                                                             \
        require(what);                                                                                                         \
        for (uint64_t n = 0; n < 16; n++)                                                                                      \
            require(guard[n] == 0x1234567890 + n);                                                                             \
    } while (0)

static void after(double one)
{
    FIRST_CALL(fabs(pow(2, one) - 2) < 1e-9 && fabs(cbrt(8 * one) - 2) < 1e-9);
    FIRST_CALL(wcslen(L"abc") == 3 && strtod("2.25", 0) == 2.25 * one);
    FIRST_CALL(raise(SIGUSR1) == 0 && delivered == 2);
    FIRST_CALL(pthread_kill(pthread_self(), SIGUSR1) == 0 && delivered == 3);
    FIRST_CALL((unsigned long)sysconf(_SC_MINSIGSTKSZ) == getauxval(AT_MINSIGSTKSZ));
}

int main(int argc, char **argv)
{
    hold = 1;
    on_stopped = stopped;
    on_made = made;
    be_a_rank();
    for (int n = 0; n < 64; n++)
        pattern[n] = (unsigned char)(n * 7 + 1);
    size = area_size();
    here = size ? *size : 0;
    stack_t stack = { .ss_size = strtoul(argv[1], 0, 10) };
    stack.ss_sp = malloc(stack.ss_size);
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    require(size && sigaltstack(&stack, 0) == 0 && sigaction(SIGUSR1, &action, 0) == 0);
    require(kill(getpid(), SIGUSR1) == 0 && delivered == 1);
    pthread_t threads[2];
    for (int n = 0; n < 2; n++)
        require(pthread_create(&threads[n], 0, keeper, 0) == 0);
    set_size(here);
    while (images_restored == 0) {
        if (asked) {
            asked = 0;
            serve();
        }
        usleep(1000);
    }
    require(*size >= here);
    if (argc > 2)
        set_size(SMALL);
    after(argc > 1 ? 1 : 0);
    over = 1;
    for (int n = 0; n < 2; n++)
        require(pthread_join(threads[n], 0) == 0);
    printf("%d\n", images_restored);
    return 0;
}
