#pragma once

// Kernels of asynchronous units: blocks with a landing area in shared memory and an mbarrier that
// the unit tells. What the area held before is known, all of it is stored in the end, and waiting
// has a limit, so that a unit that brings too little shows in the output and stops nobody.

#include <string>

#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {

class Landing {
 public:
  /// `bytes` is a multiple of 2048.
  Landing(const Instance& instance, const std::string& variant, std::uint32_t cluster,
          unsigned bytes);

  static constexpr std::uint32_t threads = 128;
  Writer w;
  std::string base, mine, gate;  // Shared addresses: of the area, of 16 bytes a thread there.
  std::string first, rank;       // A predicate of thread 0; %cluster_ctarank.
  std::uint32_t cluster;

  /// The mbarrier awaits so many bytes; behind it everybody may tell it.
  void expect(unsigned bytes, const std::string& predicate = "");
  /// The barrier of the block or the cluster.
  void meet();
  /// Behind the issue: everybody waits for the bytes, and who does not see them come says so.
  void wait(const std::string& predicate = "");
  /// Stores the area; the blocks end together.
  Kernel dump(std::uint32_t vectors);
  /// 16 bytes a thread, from `from` on in `from_space` (st.shared, ld.global and so on).
  void move(const std::string& to_space, const std::string& to, const std::string& from_space,
            const std::string& from);
  /// 2048 bytes of shared memory beside the area, filled with the contents; their address.
  std::string source(const std::string& contents);
  /// The same place in the block of that rank: a 32-bit address, or with `generic` a 64-bit one.
  std::string remote(const std::string& address, const std::string& of_rank, bool generic = false);
  std::string number(const std::string& instruction, const std::string& operands,
                     Type type = Type::b32);
  /// ", %x" with a cache policy where the instance has one.
  std::string hint(const Instance& instance);

 private:
  unsigned bytes_;
};

std::string random_contents(std::size_t count, std::uint64_t seed);
/// Elements of the type, its edges among them, as bytes.
std::string edge_contents(Type type, std::size_t bytes, std::uint64_t seed);

}  // namespace lathe::ptx::witness
