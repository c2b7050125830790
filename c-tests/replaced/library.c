/* A library of program.c, of which somebody makes another version. */
#ifndef LIBRARY_VERSION
#define LIBRARY_VERSION 1
#endif
int library_version(void);
int library_version(void) { return LIBRARY_VERSION; }
