#pragma once

// A contract as the machine runs it: buffers at addresses of their own, parameters as bytes, and
// what each tensor's elements are at a point.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "ptx/domain.h"
#include "ptx/field_point.h"

namespace lathe::verifier_node {

ptx::Type type_of(Dtype dtype);

/// Where tensor number `tensor` begins: far from all others, and aligned as the contract says and
/// no better, so that neither a stray address nor a lucky alignment goes unseen.
std::uint64_t address_of(const Contract& contract, std::size_t tensor);

std::vector<ptx::Buffer> buffers_of(const Contract& contract);

/// The parameters as they lie in .param space, each at a multiple of its size.
std::string parameter_bytes(const Contract& contract);

/// Tensors at point `point`: random scale and offset inside what `values` admits. What cannot be a
/// random number (indices, masks) is drawn exactly, and its name goes to `sampled`.
Result<std::vector<ptx::field::Recipe>> recipes_of(const Contract& contract, std::uint64_t seed,
                                                   std::uint64_t point,
                                                   std::vector<std::string>& sampled,
                                                   bool symbolic = false);
/// Whether its elements can be words: integers that are data.
bool may_be_words(const Tensor& tensor);

/// Whether residues and shadows stand for its elements.
bool carried_as_numbers(const Tensor& tensor);

/// How many values an element of a tensor may have that is drawn, not carried as residues, where
/// they are data: indices are addresses, which the machine checks one by one.
double possibilities(const Tensor& tensor);

/// Index of an element of the span by dimension.
std::vector<std::uint64_t> index_of(const Tensor& tensor, std::uint64_t element);

}  // namespace lathe::verifier_node
