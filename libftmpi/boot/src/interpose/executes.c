/* The functions that execute a program and take its arguments one by one. In C, because stable Rust
 * has no functions with any number of arguments. executes.rs exports them. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

/* The number of arguments from FIRST on, with the null pointer behind them. */
#define COUNT(count, first)                                   \
    size_t count = 1;                                         \
    if (first) {                                              \
        va_list all;                                          \
        va_start(all, first);                                 \
        for (count = 2; va_arg(all, const char *); count++) { \
        }                                                     \
        va_end(all);                                          \
    }

/* Takes them; LIST stays open behind the null pointer. */
#define TAKE(list, arguments, count, first)                 \
    const char *arguments[count];                           \
    va_list list;                                           \
    va_start(list, first);                                  \
    arguments[0] = first;                                   \
    for (size_t at = 1; at < count; at++) {                 \
        arguments[at] = va_arg(list, const char *);         \
    }

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int ftmpi_boot_execl(const char *path, const char *first, ...) {
    COUNT(count, first)
    TAKE(list, arguments, count, first)
    va_end(list);
    return execve(path, (char *const *)arguments, environ);
}

HIDDEN int ftmpi_boot_execlp(const char *file, const char *first, ...) {
    COUNT(count, first)
    TAKE(list, arguments, count, first)
    va_end(list);
    return execvpe(file, (char *const *)arguments, environ);
}

HIDDEN int ftmpi_boot_execle(const char *path, const char *first, ...) {
    COUNT(count, first)
    TAKE(list, arguments, count, first)
    char *const *variables = va_arg(list, char *const *);
    va_end(list);
    return execve(path, (char *const *)arguments, variables);
}
