#pragma once

// How many low bits of a register are zero in every thread of every launch that the contract
// allows: what an access that becomes wider must know of its address.

#include <cstdint>
#include <map>

#include "planner/subagents/draft.h"

namespace lathe::planner {

class Alignment {
 public:
  explicit Alignment(const Site& site) : site_(site) {}

  /// Trailing zero bits of the register as `index` sees it; 0 where nothing is known.
  unsigned zeros_of(RegisterId id, Index index, unsigned depth = 0);

 private:
  unsigned operand(const ptx::Operand& operand, Index index, unsigned depth);
  unsigned made_by(Index maker, unsigned depth);
  unsigned parameter(const ptx::Operand& address) const;
  unsigned promised(std::size_t parameter) const;

  const Site& site_;
  std::map<Index, unsigned> known_;
};

}  // namespace lathe::planner
