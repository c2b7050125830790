/* A library with a thread-local variable. */
#include <stdint.h>

static __thread uint64_t variable = 41;

uint64_t *odd_variable(void) { return &variable; }
