#pragma once

// Registers of wgmma: which are in use by products under way, and which were touched since the last
// wgmma.fence. Part of the order observer.

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "ptx/domain.h"

namespace lathe::ptx {

struct Program;
struct Operation;

class OrderRegisters {
 public:
  void begin(const Program& program, std::uint32_t warps);
  /// Whether the program has such products at all.
  bool any() const { return any_; }

  /// A fault, by the register and the product concerned.
  struct Fault {
    bool found = false;
    std::uint32_t place = 0, product = 0;
  };
  /// A product is issued: the fault is a register touched since the last fence.
  Fault issue(std::uint32_t warp, std::uint32_t instruction);
  /// Any other instruction: the fault is a register that is still in use.
  Fault touch(std::uint32_t warp, std::uint32_t instruction);
  void fence(std::uint32_t warp);
  void commit(std::uint32_t warp);
  void wait(std::uint32_t warp, std::uint32_t pending);

 private:
  struct Use {
    std::uint32_t place = 0;
    bool written = false;
  };
  struct Register {
    std::uint16_t reads = 0, writes = 0;  // By products under way.
    std::uint32_t product = 0;            // The latest of them.
    std::uint32_t touched = 0;            // The fence after which it was touched.
  };
  struct Warp {
    std::vector<Register> registers;  // By place / 64.
    std::uint32_t fences = 0;
    std::uint32_t under_way = 0;  // Products.
    std::vector<Use> open;
    std::deque<std::vector<Use>> groups;
  };
  const std::vector<Use>& uses_of(std::uint32_t instruction);

  bool any_ = false;
  const Program* program_ = nullptr;
  std::map<std::uint32_t, std::vector<Use>> uses_;  // By operation.
  std::vector<Warp> warps_;
};

}  // namespace lathe::ptx
