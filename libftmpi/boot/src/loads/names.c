/* The names of MPI libraries.
 *
 * Makers of MPI libraries have agreed on one binary interface (https://www.mpich.org/abi): version
 * 12 of `libmpi`, whose Fortran part is `libmpifort`. Debian, Cray, Intel and older releases have
 * other names for the same. Tools that make Python wheels add a hash: `libmpi-0a1b2c3d.so.12.3.1`.
 *
 * The functions call nothing: they also run before the C library is loaded. */
#include "names.h"

#include <stddef.h>

#define LIBRARY_C "libmpi.so.12"
#define LIBRARY_FORTRAN "libmpifort.so.12"
#define LIBRARY_STANDARD "libmpi_abi.so.1"

/* Compilers whose names Cray adds, as in `libmpi_gnu_123.so.12`. */
static const char *const compilers[] = { "_amd", "_aocc", "_cray", "_gnu", "_intel", "_nvidia" };

struct family {
    const char *stem;
    const char *ours;
};

static const struct family families[] = {
    { "libmpi", LIBRARY_C },           { "libmpich", LIBRARY_C },
    { "libpmpi", LIBRARY_C },          { "libmpifort", LIBRARY_FORTRAN },
    { "libmpichfort", LIBRARY_FORTRAN }, { "libmpichf90", LIBRARY_FORTRAN },
    { "libfmpich", LIBRARY_FORTRAN },
};

/* The rest of TEXT behind PREFIX; null if TEXT does not begin so. */
static const char *behind(const char *text, const char *prefix) {
    for (; *prefix; prefix++, text++) {
        if (*text != *prefix) {
            return NULL;
        }
    }
    return text;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Passes over `_gnu_123`. */
static const char *behind_compiler(const char *at) {
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        const char *rest = behind(at, compilers[i]);
        if (rest) {
            while (*rest == '_' || is_digit(*rest)) {
                rest++;
            }
            return rest;
        }
    }
    return at;
}

/* Passes over the hash of a wheel, `-0a1b2c3d`. */
static const char *behind_hash(const char *at) {
    if (*at != '-') {
        return at;
    }
    const char *rest = at + 1;
    while (is_hex(*rest)) {
        rest++;
    }
    return rest - at > 6 ? rest : at;
}

enum version { NO_LIBRARY, WITHOUT_VERSION, VERSION_12, OTHER_VERSION };

static enum version version(const char *at) {
    const char *rest = behind(at, ".so");
    if (!rest) {
        return NO_LIBRARY;
    }
    if (!*rest) {
        return WITHOUT_VERSION;
    }
    const char *twelve = behind(rest, ".12");
    if (twelve && (!*twelve || *twelve == '.')) {
        return VERSION_12;
    }
    return *rest == '.' && is_digit(rest[1]) ? OTHER_VERSION : NO_LIBRARY;
}

const char *ftmpi_loads_last_part(const char *path) {
    const char *last = path;
    for (; *path; path++) {
        if (*path == '/') {
            last = path + 1;
        }
    }
    return last;
}

/* The family of a name, and its version. */
static const char *family(const char *part, enum version *found) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const char *rest = behind(part, families[i].stem);
        if (rest && (*found = version(behind_hash(behind_compiler(rest)))) != NO_LIBRARY) {
            return families[i].ours;
        }
    }
    return NULL;
}

const char *ftmpi_loads_ours(const char *name, const char *final) {
    const char *part = ftmpi_loads_last_part(name);
    const char *rest = behind(part, "libmpi_abi");
    if (rest && version(behind_hash(rest)) != NO_LIBRARY) {
        return LIBRARY_STANDARD;
    }
    enum version found;
    const char *ours = family(part, &found);
    if (ours && found == VERSION_12) {
        return ours;
    }
    if (!ours || found == OTHER_VERSION) {
        return NULL;
    }
    /* A bare name without a version asks for whatever MPI there is. A file without one is a link. */
    if (!final) {
        return part == name ? ours : NULL;
    }
    return family(final, &found) == ours && found == VERSION_12 ? ours : NULL;
}

int ftmpi_loads_is_mpi(const char *name) {
    const char *part = ftmpi_loads_last_part(name);
    enum version found;
    const char *rest = behind(part, "libopen-pal");
    return family(part, &found) != NULL || (rest && version(behind_hash(rest)) != NO_LIBRARY);
}
