#pragma once

// Where the sources and the build are. They are in one object of the tests and in no other's
// command line or text, so that checkouts in different folders share through ccache whatever they
// compile.

namespace lathe {

/// Absolute, without a slash at the end. Plain pointers: other objects' initialisers use them.
extern const char* const source_folder;
extern const char* const build_folder;

}  // namespace lathe
