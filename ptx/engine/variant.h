#pragma once

// LATHE_VARIANT is `avx2` or `plain`: the namespace of what a build of these files offers. All else
// in them is hidden from the other build.

#define LATHE_JOIN_(a, b) a##b
#define LATHE_JOIN(a, b) LATHE_JOIN_(a, b)
#define LATHE_ENGINE LATHE_JOIN(engine_, LATHE_VARIANT)
