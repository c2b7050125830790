/* Loads a library. usage: opener LIBRARY */
#include <dlfcn.h>

int main(int argc, char **argv) { return argc != 2 || !dlopen(argv[1], RTLD_NOW); }
