#pragma once

// Where a PTX file and a contract disagree: target, version, entry, parameters, launch bounds,
// shared memory. Used at the door for the reference and by the screen for candidates.

#include <string>
#include <vector>

#include "contract/contract.h"
#include "ptx/module.h"

namespace lathe {

enum class AbiField : std::uint8_t {
  entry,
  target,
  ptx_isa,
  parameter,
  block,
  cluster,
  dynamic_shared_bytes
};

struct Disagreement {
  AbiField field = AbiField::entry;
  std::size_t parameter = 0;  // Of AbiField::parameter; at most the contract's number of them.
  ptx::Span span;             // In the PTX.
  Fault fault = Fault::malformed;
  std::string what, remedy;
};

/// In the order of the fields. `subject` names the file in sentences: "the reference".
std::vector<Disagreement> abi_disagreements(const Contract& contract, const ptx::Module& module,
                                            const std::string& subject);

/// The three numbers of `.reqntid 128, 1, 1` and its kin; missing ones are 1.
std::array<std::uint32_t, 3> extent_of(std::string_view directive);

/// The directive of an entry that begins with this word; null where there is none.
const ptx::Directive* find_directive(const ptx::Function& entry, std::string_view word);

/// Bytes of all .shared variables with a size, each aligned as it asks.
std::uint64_t static_shared_bytes(const ptx::Module& module);

}  // namespace lathe
