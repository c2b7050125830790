/* libftmpi_loads.so: an auditor of the dynamic linker (LD_AUDIT, rtld-audit(7)).
 *
 * Every load of an MPI library with our binary interface becomes one of ours: by `dlopen`, by the
 * needs of a program or library, by a whole path, along any search path. When a process of a rank
 * loads another MPI all the same, the path is written on the status page of the rank, and the agent
 * tells the user.
 *
 * A rank that begins anew gets its plug-ins as they were: FTMPI_LINKS names a folder with links to
 * those that were replaced since, by their whole paths.
 *
 * The library needs no other library, the C library neither: an auditor gets copies of its own of
 * what it needs. It makes system calls, and none where no MPI library is loaded. It has no function
 * that the linker would call at a call of the program, so calls keep their speed. */
#include "names.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* `ftmpi_wire::control::fds::STATUS` and `ftmpi_wire::status`: a test compares them. */
#define STATUS_FD 1001
#define STATUS_BYTES 4096
#define STRANGER_PID_WORD 255
#define STRANGER_WORD 256
#define STRANGER_BYTES 2040

static long system_call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static size_t length(const char *text) {
    size_t n = 0;
    while (text[n]) {
        n++;
    }
    return n;
}

/* Appends to a text of LIMIT bytes; 0 if there is no room. */
static int append(char *text, size_t limit, const char *more, size_t bytes) {
    size_t at = length(text);
    if (at + bytes + 1 > limit) {
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        text[at + i] = more[i];
    }
    text[at + bytes] = 0;
    return 1;
}

static char directory[PATH_BYTES];

/* Takes the directory of this library, with its slash, out of one line of the process's maps.
 * 1: this was the line. */
static int read_line(const char *line) {
    unsigned long bounds[2] = { 0, 0 };
    for (int i = 0; i < 2; i++, line++) {
        for (; *line && *line != '-' && *line != ' '; line++) {
            bounds[i] = bounds[i] * 16 + (*line <= '9' ? *line - '0' : *line - 'a' + 10);
        }
        if (!*line) {
            return 0;
        }
    }
    unsigned long here = (unsigned long)&read_line;
    if (here < bounds[0] || here >= bounds[1]) {
        return 0;
    }
    while (*line && *line != '/') {
        line++;
    }
    directory[0] = 0;
    append(directory, sizeof directory, line, ftmpi_loads_last_part(line) - line);
    return 1;
}

/* Finds the directory of this library. It is where our other libraries are. */
static void find_directory(void) {
    static char line[PATH_BYTES + 128];
    char bytes[1024];
    size_t at = 0;
    long fd = system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    long n;
    int found = 0;
    while (!found && fd >= 0 && (n = system_call(SYS_read, fd, (long)bytes, sizeof bytes, 0)) > 0) {
        for (long i = 0; i < n && !found; i++) {
            if (bytes[i] != '\n') {
                line[at] = bytes[i];
                at += at + 1 < sizeof line;
                continue;
            }
            line[at] = 0;
            at = 0;
            found = read_line(line);
        }
    }
    if (fd >= 0) {
        system_call(SYS_close, fd, 0, 0, 0);
    }
}

/* Whether the path is in our directory. */
static int is_ours(const char *path) {
    size_t n = length(directory);
    for (size_t i = 0; i < n; i++) {
        if (path[i] != directory[i]) {
            return 0;
        }
    }
    return n > 0 && ftmpi_loads_last_part(path) == path + n;
}

/* The last part of the file that a path leads to; null if there is none. */
static const char *final_part(const char *path, char *room) {
    char link[32] = "/proc/self/fd/";
    long fd = system_call(SYS_openat, AT_FDCWD, (long)path, O_PATH | O_CLOEXEC, 0);
    if (fd < 0) {
        return NULL;
    }
    char digits[12];
    int at = sizeof digits;
    for (long rest = fd; at == sizeof digits || rest; rest /= 10) {
        digits[--at] = '0' + rest % 10;
    }
    append(link, sizeof link, digits + at, sizeof digits - at);
    long n = system_call(SYS_readlink, (long)link, (long)room, PATH_BYTES - 1, 0);
    system_call(SYS_close, fd, 0, 0, 0);
    if (n <= 0) {
        return NULL;
    }
    room[n] = 0;
    return ftmpi_loads_last_part(room);
}

/* Our file for a name; null if there is none. */
static const char *redirected(const char *name) {
    /* Three libraries: each has its text, which stays. */
    static char paths[3][PATH_BYTES];
    static char room[PATH_BYTES];
    const char *part = ftmpi_loads_last_part(name);
    if (!ftmpi_loads_is_mpi(name) && !ftmpi_loads_ours(name, NULL)) {
        return NULL;
    }
    const char *ours = ftmpi_loads_ours(name, part == name ? NULL : final_part(name, room));
    if (!ours) {
        return NULL;
    }
    if (!directory[0]) {
        find_directory();
    }
    if (!directory[0] || is_ours(name)) {
        return NULL;
    }
    char *path = paths[ours[6] == '_' ? 2 : ours[6] == 'f'];
    path[0] = 0;
    if (!append(path, PATH_BYTES, directory, length(directory)) ||
        !append(path, PATH_BYTES, ours, length(ours)) ||
        system_call(SYS_faccessat, AT_FDCWD, (long)path, R_OK, 0) != 0) {
        return NULL;
    }
    return path;
}

/* The folder of links; empty if there is none. */
static char links[PATH_BYTES];

/* Reads the folder's name from the environment of the process. */
static void find_links(void) {
    static const char name[] = "FTMPI_LINKS=";
    char bytes[1024];
    size_t matched = 0, at = 0;
    long fd = system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    long n;
    int begins = 1;
    while (fd >= 0 && (n = system_call(SYS_read, fd, (long)bytes, sizeof bytes, 0)) > 0) {
        for (long i = 0; i < n; i++) {
            char c = bytes[i];
            if (matched == sizeof name - 1) {
                if (!c || at + 1 == sizeof links) {
                    links[c ? 0 : at] = 0;
                    system_call(SYS_close, fd, 0, 0, 0);
                    return;
                }
                links[at++] = c;
            } else {
                matched = (begins || matched) && c == name[matched] ? matched + 1 : 0;
                begins = !c;
            }
        }
    }
    links[matched == sizeof name - 1 ? at : 0] = 0;
    if (fd >= 0) {
        system_call(SYS_close, fd, 0, 0, 0);
    }
}

/* The link to what was at this path at first; null if that is still there, or nobody knows. */
static const char *kept(const char *path) {
    static char room[PATH_BYTES];
    static char link[PATH_BYTES];
    if (!links[0] || ftmpi_loads_last_part(path) == path) {
        return NULL;
    }
    /* The path as the kernel shows it, if there is a file. */
    const char *last = final_part(path, room);
    const char *whole = last ? room : path;
    link[0] = 0;
    if (whole[0] != '/' || !append(link, PATH_BYTES, links, length(links)) ||
        !append(link, PATH_BYTES, whole, length(whole)) ||
        system_call(SYS_faccessat, AT_FDCWD, (long)link, R_OK, 0) != 0) {
        return NULL;
    }
    return link;
}

/* Writes the path of an MPI library that is not ours on the status page of the rank. */
static void report(const char *path) {
    struct stat page;
    /* A process that a rank started has not inherited the page, or has another file there. */
    const long seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    if (system_call(SYS_fstat, STATUS_FD, (long)&page, 0, 0) != 0 || page.st_size != STATUS_BYTES ||
        system_call(SYS_fcntl, STATUS_FD, F_GET_SEALS, 0, 0) != seals) {
        return;
    }
    size_t bytes = length(path) + 1;
    if (bytes > STRANGER_BYTES) {
        return;
    }
    long pid = system_call(SYS_getpid, 0, 0, 0, 0);
    system_call(SYS_pwrite64, STATUS_FD, (long)path, bytes, STRANGER_WORD * 8);
    system_call(SYS_pwrite64, STATUS_FD, (long)&pid, sizeof pid, STRANGER_PID_WORD * 8);
}

unsigned int la_version(unsigned int version) {
    find_links();
    return version;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag) {
    (void)cookie;
    const char *ours = flag == LA_SER_ORIG ? redirected(name) : NULL;
    ours = ours ? ours : kept(name);
    return (char *)(ours ? ours : name);
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie) {
    (void)namespace;
    (void)cookie;
    if (map->l_name && ftmpi_loads_is_mpi(map->l_name)) {
        if (!directory[0]) {
            find_directory();
        }
        if (!is_ours(map->l_name)) {
            report(map->l_name);
        }
    }
    return 0;
}
