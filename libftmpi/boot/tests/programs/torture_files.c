/* Programs of items: open and mapped files. See items.h.
 * usage: torture_files ITEM STEPS FOLDER */
#include "items.h"
#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Files: read, written, appended to, through one and through several descriptors. */
static int in, out, log_, twin, both;
static void files_begin(void)
{
    int made = open("in", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 60000; i++)
        require(write(made, &i, sizeof i) == sizeof i);
    close(made);
    in = open("in", O_RDONLY);
    out = open("out", O_CREAT | O_WRONLY | O_TRUNC, 0640);
    /* An image may be taken before this, and an earlier incarnation may have come further. */
    while ((log_ = open("log", O_CREAT | O_WRONLY | O_APPEND | O_EXCL, 0600)) == -1 && errno == EEXIST)
        unlink("log");
    twin = dup(out);
    both = open("both", O_CREAT | O_RDWR, 0600);
    require(in >= 0 && out >= 0 && log_ >= 0 && twin >= 0 && both >= 0);
}
static void files_step(int step)
{
    int number = -1;
    require(read(in, &number, sizeof number) == sizeof number && number == step);
    require(lseek(out, 0, SEEK_CUR) == step * 8L);
    require(write(step % 2 ? out : twin, &sum, 8) == 8);
    require(lseek(twin, 0, SEEK_CUR) == step * 8L + 8);
    struct stat stat;
    require(write(log_, &step, 4) == 4 && fstat(log_, &stat) == 0 && stat.st_size == step * 4L + 4);
    uint64_t word = next();
    require(pwrite(both, &word, 8, step * 8L) == 8);
    require(lseek(both, step * 8L, SEEK_SET) >= 0 && read(both, &number, 4) == 4 && number == (int)word);
    require((fcntl(log_, F_GETFL) & (O_ACCMODE | O_APPEND)) == (O_WRONLY | O_APPEND));
}

/* A small data base: records are changed in place and read again, and sometimes the file shrinks and
 * grows. Memory knows what must be in it. */
enum { RECORDS = 3000 };
static int base;
static uint64_t records[RECORDS];
static int record_count;
static void base_begin(void)
{
    /* An earlier incarnation may have come further. */
    base = open("base", O_CREAT | O_RDWR | O_TRUNC, 0600);
    require(base >= 0);
}
static void base_step(int step)
{
    uint64_t found = 0;
    struct stat about;
    for (int i = 0; i < 20; i++) {
        int which = next() % RECORDS;
        require(fstat(base, &about) == 0 && about.st_size == record_count * 8L);
        if (which < record_count)
            require(pread(base, &found, 8, which * 8L) == 8 && found == records[which]);
    }
    int which = next() % (record_count + 1);
    if (which >= RECORDS)
        which = RECORDS - 1;
    records[which] = next() | 1;
    require(lseek(base, which * 8L, SEEK_SET) == which * 8L && write(base, &records[which], 8) == 8);
    if (which == record_count)
        record_count++;
    if (record_count > 100 && step % 500 == 499) {
        record_count -= 50;
        require(ftruncate(base, record_count * 8L) == 0);
    }
    require(lseek(base, 0, SEEK_CUR) == which * 8L + 8);
    mix(records[which]);
}

/* Files without a name, also sparse, also read-only; null devices; a folder. */
static int gone, temporary, gone_reader, null, folder;
static uint64_t gone_sum[64];
static void deleted_begin(void)
{
    /* No image while the file still has its name: it could not be restored after the name is gone. */
    undisturbed(1);
    gone = open("gone", O_CREAT | O_RDWR, 0600);
    temporary = open(".", O_TMPFILE | O_RDWR, 0600);
    require(gone >= 0 && temporary >= 0 && unlink("gone") == 0);
    int made = open("reader", O_CREAT | O_RDWR, 0400);
    require(write(made, "contents", 8) == 8);
    gone_reader = open("reader", O_RDONLY);
    close(made);
    require(unlink("reader") == 0);
    require(ftruncate(temporary, 1L << 36) == 0);
    null = open("/dev/null", O_RDWR);
    folder = open(".", O_RDONLY | O_DIRECTORY);
    undisturbed(0);
}
static void deleted_step(int step)
{
    int at = next() % 64;
    uint64_t word = 0;
    require(pread(gone, &word, 8, at * 4096L) == (gone_sum[at] || lseek(gone, 0, SEEK_END) > at * 4096L ? 8 : 0) && word == gone_sum[at]);
    gone_sum[at] = next() | 1;
    require(pwrite(gone, gone_sum + at, 8, at * 4096L) == 8);
    require(lseek(gone, at, SEEK_SET) == at);
    word = gone_sum[at];
    require(pwrite(temporary, &word, 8, (at * 977L) << 20) == 8);
    char text[8];
    require(pread(gone_reader, text, 8, 0) == 8 && memcmp(text, "contents", 8) == 0);
    require(write(gone_reader, text, 8) == -1 && errno == EBADF);
    struct stat stat;
    require(fstat(gone, &stat) == 0 && stat.st_nlink == 0 && fstat(temporary, &stat) == 0 && stat.st_size == 1L << 36);
    require(write(null, text, 8) == 8 && faccessat(folder, ".", R_OK, 0) == 0);
    require(lseek(gone, 0, SEEK_CUR) == at);
    spin(200 + step % 3);
}

/* A memfd that is mapped twice; shared memory without a file; shared memory of a file. */
static int memory;
static volatile uint64_t *first_view, *second_view, *anonymous, *of_file;
static void shared_begin(void)
{
    memory = memfd_create("torture", 0);
    require(memory >= 0 && ftruncate(memory, 1 << 20) == 0);
    first_view = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    second_view = mmap(0, 1 << 19, PROT_READ, MAP_SHARED, memory, 1 << 19);
    anonymous = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int file = open("file", O_CREAT | O_RDWR, 0600);
    require(ftruncate(file, 8192) == 0);
    of_file = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(first_view != MAP_FAILED && second_view != MAP_FAILED && anonymous != MAP_FAILED && of_file != MAP_FAILED);
    close(file);
}
static uint64_t kept[256];
static void shared_step(int step)
{
    int at = next() % 256;
    require(first_view[65536 + at * 256] == kept[at] && second_view[at * 256] == kept[at] && anonymous[at * 512] == kept[at]);
    kept[at] = next();
    first_view[65536 + at * 256] = kept[at];
    anonymous[at * 512] = kept[at];
    require(second_view[at * 256] == kept[at]);
    uint64_t word = 0;
    require(pread(memory, &word, 8, (65536 + at * 256) * 8) == 8 && word == kept[at]);
    /* The contents of the file are not part of the image: the step writes them again. */
    of_file[step % 1024] = step;
    require(of_file[step % 1024] == (uint64_t)step);
    spin(100);
}

/* A pipe within the process with something in it, an event counter, flags. */
static int pipes[2], counter, semaphore;
static uint64_t written, taken;
static void pipes_begin(void)
{
    require(pipe2(pipes, O_NONBLOCK | O_CLOEXEC) == 0);
    require(fcntl(pipes[1], F_SETPIPE_SZ, 1 << 17) == 1 << 17);
    counter = eventfd(5, EFD_CLOEXEC);
    semaphore = eventfd(1, EFD_NONBLOCK | EFD_SEMAPHORE);
    require(counter >= 0 && semaphore >= 0);
}
static void pipes_step(int step)
{
    for (int n = next() % 300; n > 0; n--)
        if (write(pipes[1], &written, 8) == 8)
            written++;
        else
            require(errno == EAGAIN);
    for (int n = next() % 290; n > 0; n--) {
        uint64_t word = 0;
        if (read(pipes[0], &word, 8) == 8)
            require(word == taken++);
        else
            require(errno == EAGAIN && taken == written);
    }
    mix(written - taken);
    uint64_t add = step + 1, got = 0;
    require(read(counter, &got, 8) == 8 && got == (step ? (uint64_t)step : 5));
    require(write(counter, &add, 8) == 8);
    add = 2;
    require(write(semaphore, &add, 8) == 8 && read(semaphore, &got, 8) == 8 && got == 1 && read(semaphore, &got, 8) == 8);
    require(fcntl(pipes[0], F_GETFD) == FD_CLOEXEC && fcntl(semaphore, F_GETFD) == 0);
    require(fcntl(pipes[1], F_GETPIPE_SZ) == 1 << 17);
}

/* Private mappings of data files: replaced, removed or overwritten later; removed already; a
 * memfd. Each file ends within a page, and the mapping has pages behind the end. */
enum { MAPPED = 5, MAPPED_PAGES = 300 };
static uint64_t *mapped[MAPPED], overlay[MAPPED_PAGES];
static const char *mapped_name[MAPPED] = { "replaced", "removed", "over", "removed before", "memfd" };
static uint64_t mapped_word(int of, int page) { return (uint64_t)(of + 1) * 1000003 + (uint64_t)page * 7919; }
static int mapped_file(int of, const char *name, uint64_t change)
{
    int file = of == 4 ? memfd_create(name, 0) : open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
    require(file >= 0);
    for (int page = 0; page < MAPPED_PAGES; page++) {
        uint64_t word = mapped_word(of, page) + change;
        require(pwrite(file, &word, 8, page * 4096L) == 8);
    }
    require(pwrite(file, "torn", 4, MAPPED_PAGES * 4096L) == 4);
    return file;
}
static void mapped_begin(void)
{
    undisturbed(1);
    for (int of = 0; of < MAPPED; of++) {
        int file = mapped_file(of, mapped_name[of], 0);
        int prot = of == 0 ? PROT_READ | PROT_WRITE : of == 1 ? PROT_NONE : PROT_READ;
        mapped[of] = mmap(0, (MAPPED_PAGES + 4) * 4096L, prot, MAP_PRIVATE, file, 0);
        require(mapped[of] != MAP_FAILED && close(file) == 0);
    }
    require(unlink("removed before") == 0);
    undisturbed(0);
}
static void mapped_step(int step)
{
    int at = next() % MAPPED_PAGES, of = next() % MAPPED;
    undisturbed(1);
    if (step == 4000) {
        /* The program does not read this mapping any more. */
        require(munmap(mapped[2], (MAPPED_PAGES + 4) * 4096L) == 0);
        mapped[2] = NULL;
        close(mapped_file(2, "over", 5));
    } else if (step == 6000) {
        close(mapped_file(0, "other", 9));
        require(rename("other", "replaced") == 0);
    } else if (step == 8000)
        require(unlink("removed") == 0 || errno == ENOENT);
    undisturbed(0);
    if (mapped[of]) {
        char *page = (char *)mapped[of] + at * 4096L, *end = (char *)mapped[of] + MAPPED_PAGES * 4096L;
        if (of == 1)
            require(mprotect(mapped[1], (MAPPED_PAGES + 4) * 4096L, PROT_READ) == 0);
        uint64_t word = *(uint64_t *)page;
        require(word == (of == 0 && overlay[at] ? overlay[at] : mapped_word(of, at)));
        require(memcmp(end, "torn\0\0\0", 8) == 0);
        mix(word);
        if (of == 0)
            *(uint64_t *)page = overlay[at] = next() | 1;
        if (of == 1)
            require(mprotect(mapped[1], (MAPPED_PAGES + 4) * 4096L, PROT_NONE) == 0);
    }
    spin(200);
}

static const struct item items[] = {
    ITEM(files), ITEM(base), ITEM(deleted), ITEM(shared), ITEM(pipes), ITEM(mapped),
};

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
