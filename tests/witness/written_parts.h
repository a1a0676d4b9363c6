#pragma once

// Of what the operands of a written line are made: registers of the module around it, vectors,
// addresses. Used by written_*.cpp alone.

#include "tests/witness/written.h"

namespace lathe::ptx::witness {

using Texts = std::vector<std::string>;

/// A register of the module that holds the type.
std::string reg(Type type, Draw& draw);
std::string vector_of(Type type, std::size_t count, Draw& draw);
/// One register, or a vector of several.
std::string several(Type type, std::size_t count, Draw& draw);
std::string shared_address(Draw& draw);
std::string global_address(Draw& draw);
/// What .v2, .v4 and .v8 say; 1 without them.
std::size_t vector_count(const Instance& instance);

/// mma, wmma, wgmma, ldmatrix, stmatrix.
std::optional<Texts> matrix_texts(const Instance& instance, Draw& draw);
/// tcgen05.
std::optional<Texts> tensor_texts(const Instance& instance, Draw& draw);
/// multimem, tensormap, clusterlaunchcontrol, calls, the stack.
std::optional<Texts> rare_texts(const Instance& instance, Draw& draw);

}  // namespace lathe::ptx::witness
