/* The restorer: the part of a restore that runs while the address space is replaced.
 * restore/mod.rs copies it into the reserved area, where it runs on the stack there. Everything
 * else of the process is unmapped, also the library that this file is part of. Therefore all code
 * is in one section. There is no data, no constant in another section, no call out, no thread-local
 * storage, no jump table and no vector register. See build.rs, and the test of the linked library.
 * That is why this is C and not Rust: flags of the compiler promise these things. It reads the raw
 * stream (ftmpi_checkpoint::stream) behind the CONTENTS records. The control block was checked
 * before. What the restorer reads itself (PAGES, END) it checks here. */
#include <stdint.h>

typedef uint64_t u64;
typedef uint32_t u32;

#define HERE __attribute__((section("ftmpi_restorer"), noinline))
#define INLINE static inline __attribute__((always_inline))

/* As in base/tables.rs and ftmpi_checkpoint::stream; the Rust side compares the sizes. */
struct keep { u64 start, end; };
struct stream_id { u64 device, inode, mode; };
struct control {
    int64_t image_fd;
    u64 sequence, maps, map_count, files, strings, heap_start, heap_end, is_elsewhere, fs_base, gs_base;
    u64 tid_address, robust_head, robust_len, rseq_address, rseq_len, resume_sp, resume_ip;
    u64 keep_count;
    struct keep keep[16];
    u32 rank, incarnation;
    u64 died, together;
    struct stream_id streams[3];
    char line_broken_off[160], line_damaged[160], line_map[160], line_state[160];
};
struct map { u64 start, end, offset; u32 file, prot, flags, reserved; };
struct text { u32 offset, len; };
struct file { struct text path; u64 size, hash, device, inode, birth; u32 hashed, nameless; };
struct record { u32 magic, kind; u64 sequence, at, len; };
struct totals { u64 records, page_bytes; };

enum { RECORD_MAGIC = 0x4d544652, PAGES = 13, END = 14 };
enum { SHARED = 1, STACK = 2, GROWS_DOWN = 4, MAY_WRITE = 8, HUGE = 16, NO_HUGE = 32, DONT_DUMP = 64,
       MERGEABLE = 256, DROPPABLE = 512 };
#define NO_FILE 0xffffffffu
enum { DAMAGED = 117, MISFIT = 118 };
/* The page that the rank shares with its agent: fds::STATUS, word::BOOT_STDERR. */
enum { STATUS = 1001, BOOT_STDERR_AT = 94 * 8 };
enum {
    SYS_read = 0, SYS_write = 1, SYS_close = 3, SYS_poll = 7, SYS_mmap = 9, SYS_mprotect = 10,
    SYS_pread64 = 17, SYS_pwrite64 = 18,
    SYS_munmap = 11, SYS_brk = 12, SYS_madvise = 28, SYS_arch_prctl = 158,
    SYS_set_tid_address = 218, SYS_exit_group = 231, SYS_openat = 257, SYS_set_robust_list = 273,
    SYS_rseq = 334
};
enum { PROT_READ = 1, PROT_WRITE = 2 };
enum {
    MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_DROPPABLE = 8, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_GROWSDOWN = 0x100,
    MAP_NORESERVE = 0x4000
};
enum { EINTR = 4, EAGAIN = 11 };
enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS = 0x1002 };
#define RSEQ_SIGNATURE 0x53053053
#define USER_END 0x7ffffffff000ull

INLINE long call6(long nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

INLINE long call3(long nr, u64 a, u64 b, u64 c) { return call6(nr, a, b, c, 0, 0, 0); }

static HERE void fail(const char *line, int code)
{
    u64 len = 0;
    while (len < 160 && line[len])
        len++;
    /* As syscalls::write_counted: the text is not the program's. */
    u64 counted = 0;
    call6(SYS_pread64, STATUS, (u64)&counted, sizeof counted, BOOT_STDERR_AT, 0, 0);
    counted += len;
    call6(SYS_pwrite64, STATUS, (u64)&counted, sizeof counted, BOOT_STDERR_AT, 0, 0);
    call3(SYS_write, 2, (u64)line, len);
    for (;;)
        call3(SYS_exit_group, code, 0, 0);
}

/* Reads all of it, or ends the process. */
static HERE void read_all(const struct control *control, u64 to, u64 len)
{
    while (len) {
        long got = call3(SYS_read, control->image_fd, to, len < (1ull << 30) ? len : 1ull << 30);
        if (got == -EINTR)
            continue;
        if (got == -EAGAIN) {
            struct { int fd; short events, revents; } entry = { (int)control->image_fd, 1, 0 };
            call3(SYS_poll, (u64)&entry, 1, (u64)-1);
            continue;
        }
        if (got == 0)
            fail(control->line_broken_off, DAMAGED);
        if (got < 0)
            fail(control->line_damaged, DAMAGED);
        to += got;
        len -= got;
    }
}

/* Reads into memory without pages yet. The kernel makes the pages of a piece at once, instead of
 * one by one. A kernel before 5.14 refuses, and makes them one by one. */
static HERE void read_fresh(const struct control *control, u64 to, u64 len)
{
    enum { PIECE = 256 << 10, MADV_POPULATE_WRITE = 23 };
    while (len) {
        u64 now = len < PIECE ? len : PIECE;
        if (now > 4096)
            call3(SYS_madvise, to, now, MADV_POPULATE_WRITE);
        read_all(control, to, now);
        to += now;
        len -= now;
    }
}

static HERE void unmap_all(const struct control *control)
{
    u64 from = 0;
    for (u64 i = 0; i <= control->keep_count; i++) {
        u64 to = i < control->keep_count ? control->keep[i].start : USER_END;
        if (to > from && call3(SYS_munmap, from, to - from, 0) < 0)
            fail(control->line_map, MISFIT);
        if (i < control->keep_count && control->keep[i].end > from)
            from = control->keep[i].end;
    }
}

/* Sets the end of the heap, where it grows. The heap's memory is among the mappings. */
static HERE void place_heap(const struct control *control)
{
    if ((u64)call3(SYS_brk, control->heap_end, 0, 0) != control->heap_end)
        fail(control->line_map, MISFIT);
    u64 from = (control->heap_start + 4095) & ~4095ull;
    u64 to = (control->heap_end + 4095) & ~4095ull;
    if (to > from && call3(SYS_munmap, from, to - from, 0) < 0)
        fail(control->line_map, MISFIT);
}

static HERE void map_one(const struct control *control, const struct map *map)
{
    u64 len = map->end - map->start;
    u64 flags = MAP_FIXED | (map->flags & SHARED ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE);
    u64 prot = PROT_READ | PROT_WRITE;
    long fd = -1;
    if (map->flags & STACK && !control->is_elsewhere) {
        /* The kernel's own mapping: one access makes it grow down to where it was. */
        volatile char *lowest = (volatile char *)map->start;
        *lowest = 0;
        /* What the new process had on its stack is zero again. */
        call3(SYS_madvise, map->start, len, 4);
        return;
    }
    if (map->file == NO_FILE) {
        flags |= MAP_ANONYMOUS | MAP_NORESERVE; /* the program was within its limit */
        if (map->flags & (GROWS_DOWN | STACK))
            flags |= MAP_GROWSDOWN;
        if (map->flags & DROPPABLE)
            flags = MAP_FIXED | MAP_ANONYMOUS | MAP_DROPPABLE;
    } else {
        const struct file *file = (const struct file *)control->files + map->file;
        u64 path = control->strings + file->path.offset;
        int writable = (map->flags & SHARED) && (map->flags & MAY_WRITE);
        enum { O_RDWR = 2, O_CLOEXEC = 02000000, AT_FDCWD = -100 };
        if (map->flags & SHARED)
            prot = map->prot;
        /* By the program's own descriptor: the kernel would count another open. */
        if (file->nameless
            && (u64)call6(SYS_mmap, map->start, len, prot, flags, file->nameless - 1, map->offset) == map->start)
            return;
        fd = call3(SYS_openat, (u64)(int64_t)AT_FDCWD, path, O_CLOEXEC | (writable ? O_RDWR : 0));
        if (fd < 0)
            fail(control->line_map, MISFIT);
    }
    if ((u64)call6(SYS_mmap, map->start, len, prot, flags, fd, map->offset) != map->start)
        fail(control->line_map, MISFIT);
    if (fd >= 0)
        call3(SYS_close, fd, 0, 0);
    /* Hints: a kernel may not know them. */
    if (map->flags & HUGE)
        call3(SYS_madvise, map->start, len, 14);
    if (map->flags & NO_HUGE)
        call3(SYS_madvise, map->start, len, 15);
    if (map->flags & DONT_DUMP)
        call3(SYS_madvise, map->start, len, 16);
    if (map->flags & MERGEABLE)
        call3(SYS_madvise, map->start, len, 12);
}

static HERE void read_pages(const struct control *control)
{
    const struct map *maps = (const struct map *)control->maps;
    u64 current = 0, sequence = control->sequence, page_bytes = 0, floor = 0;
    for (;;) {
        struct record record;
        read_all(control, (u64)&record, sizeof record);
        if (record.magic != RECORD_MAGIC || record.sequence != sequence)
            fail(control->line_damaged, DAMAGED);
        if (record.kind == END) {
            struct totals totals;
            if (record.len != sizeof totals)
                fail(control->line_damaged, DAMAGED);
            read_all(control, (u64)&totals, sizeof totals);
            if (totals.records != sequence || totals.page_bytes != page_bytes)
                fail(control->line_damaged, DAMAGED);
            return;
        }
        u64 end = record.at + record.len;
        if (record.kind != PAGES || record.at < floor || end <= record.at)
            fail(control->line_damaged, DAMAGED);
        while (current < control->map_count && maps[current].end <= record.at)
            current++;
        if (current == control->map_count || record.at < maps[current].start
            || end > maps[current].end)
            fail(control->line_damaged, DAMAGED);
        if ((maps[current].flags & SHARED) && maps[current].file != NO_FILE)
            fail(control->line_damaged, DAMAGED);
        if (maps[current].file == NO_FILE)
            read_fresh(control, record.at, record.len);
        else
            read_all(control, record.at, record.len);
        floor = end;
        page_bytes += record.len;
        sequence++;
    }
}

static HERE void protect_all(const struct control *control)
{
    const struct map *maps = (const struct map *)control->maps;
    for (u64 i = 0; i < control->map_count; i++) {
        const struct map *map = maps + i;
        if (map->prot == (PROT_READ | PROT_WRITE))
            continue;
        if ((map->flags & SHARED) && map->file != NO_FILE)
            continue;
        if (call3(SYS_mprotect, map->start, map->end - map->start, map->prot) < 0)
            fail(control->line_map, MISFIT);
    }
}

/* Tells the kernel what it must know about the main thread. */
static HERE void register_main_thread(const struct control *control)
{
    if (call3(SYS_arch_prctl, ARCH_SET_FS, control->fs_base, 0) < 0
        || call3(SYS_arch_prctl, ARCH_SET_GS, control->gs_base, 0) < 0)
        fail(control->line_state, MISFIT);
    long tid = call3(SYS_set_tid_address, control->tid_address, 0, 0);
    if (control->tid_address)
        *(volatile int *)control->tid_address = (int)tid;
    if (control->robust_head
        && call3(SYS_set_robust_list, control->robust_head, control->robust_len, 0) < 0)
        fail(control->line_state, MISFIT);
    if (control->rseq_address) {
        /* struct rseq: cpu_id_start, cpu_id, rseq_cs (8 bytes): no critical section is open. */
        volatile u32 *area = (volatile u32 *)control->rseq_address;
        area[2] = 0;
        area[3] = 0;
        if (call6(SYS_rseq, control->rseq_address, control->rseq_len, 0, RSEQ_SIGNATURE, 0, 0) < 0)
            fail(control->line_state, MISFIT);
    }
}

/* Never returns: the process goes on where its image was taken. */
__attribute__((section("ftmpi_restorer"), noreturn, used, visibility("hidden")))
void ftmpi_restorer_main(const struct control *control)
{
    /* Before the heap is unmapped: the kernel shrinks only a heap that exists. */
    if (!control->is_elsewhere && (u64)call3(SYS_brk, control->heap_start, 0, 0) != control->heap_start)
        fail(control->line_map, MISFIT);
    unmap_all(control);
    if (!control->is_elsewhere)
        place_heap(control);
    const struct map *maps = (const struct map *)control->maps;
    for (u64 i = 0; i < control->map_count; i++)
        map_one(control, maps + i);
    read_pages(control);
    protect_all(control);
    register_main_thread(control);
    __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(control->resume_sp), "r"(control->resume_ip) : "memory");
    __builtin_unreachable();
}

/* Sizes, for the Rust side to compare. */
__attribute__((visibility("hidden"))) const u64 ftmpi_restorer_sizes[4] = {
    sizeof(struct control), sizeof(struct map), sizeof(struct file), sizeof(struct record)
};

/* The section's bounds, given by the linker; the entry's offset in it. */
extern const char __start_ftmpi_restorer[] __attribute__((visibility("hidden")));
extern const char __stop_ftmpi_restorer[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) const char *ftmpi_restorer_start(void) { return __start_ftmpi_restorer; }
__attribute__((visibility("hidden"))) const char *ftmpi_restorer_stop(void) { return __stop_ftmpi_restorer; }

/* The restartable-sequence area of the C library, relative to the thread pointer. A C library
 * before 2.35 has none. Weak references are stable in C only. */
extern const long __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
__attribute__((visibility("hidden"))) long ftmpi_rseq_offset(void) { return &__rseq_offset ? __rseq_offset : 0; }
__attribute__((visibility("hidden"))) unsigned ftmpi_rseq_size(void) { return &__rseq_size ? __rseq_size : 0; }
