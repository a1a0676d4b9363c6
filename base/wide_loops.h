#pragma once

// Loops that are compiled for the widest vectors of a processor too; which form is called is chosen
// when the program starts. The forms are named by what a processor has: a processor's own name
// stands for that one alone, and others would take the plain form. The fuzzers' compiler knows no
// level of optimisation for one function.

#ifdef __clang__
#define LATHE_WIDE_LOOPS
#else
#define LATHE_WIDE_LOOPS                                                       \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), \
                 optimize("O3", "fp-contract=off")))
#endif
