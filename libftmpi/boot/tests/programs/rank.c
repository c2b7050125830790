/* rank.h as a library, for programs in other languages. */
#include "rank.h"

void ftmpi_test_begin(void) { be_a_rank(); }
