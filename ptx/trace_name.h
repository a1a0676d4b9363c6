#pragma once

// A name of what was noted, in its order, under a secret key. What was noted differently has
// another name but for a chance of about 2^-100.

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "ptx/domain.h"

namespace lathe::ptx {

class TraceName {
 public:
  using Value = std::array<std::uint64_t, 2>;
  using Words = std::array<std::uint64_t, lane_count>;

  explicit TraceName(std::uint64_t key) {
    std::uint64_t draw = 0;
    for (Words* words : {&added_[0], &factors_[0], &added_[1], &factors_[1]})
      for (std::uint64_t& word : *words) word = philox64(key, stream, draw++);
    for (std::uint64_t& word : keys_) word = philox64(key, stream, draw++);
    clear();
  }
  void clear() { state_ = {keys_[0], keys_[1]}; }
  Value value() const { return state_; }

  void take(std::uint64_t a, std::uint64_t b) {
    state_ = {folded(state_[0] ^ a, b ^ keys_[2]), folded(state_[1] + b, a ^ keys_[3])};
  }
  /// One word a lane of `mask`; mostly they are evenly apart.
  void take(std::uint64_t what, Mask mask, const Words& words) {
    if (mask == every_lane) {
      std::uint64_t step = words[1] - words[0], bent = 0;
      for (unsigned i = 2; i < lane_count; ++i) bent |= (words[i] - words[i - 1]) ^ step;
      if (bent == 0) {
        take(what * 4, words[0]);
        return take(step, 0);
      }
    }
    Value sums{};
    std::uint64_t high = 0;
    for (std::uint64_t word : words) high |= word;
    if (mask == every_lane && high >> 32 == 0) {
      for (unsigned i = 0; i < lane_count; i += 2)
        for (unsigned k = 0; k < 2; ++k)
          sums[k] += folded((words[i] | words[i + 1] << 32) ^ added_[k][i], factors_[k][i]);
      take(what * 4 + 3, sums[0]);
      return take(sums[1], mask);
    }
    for (Mask left = mask; left != 0; left &= left - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(left));
      for (unsigned k = 0; k < 2; ++k) sums[k] += folded(words[i] ^ added_[k][i], factors_[k][i]);
    }
    take(what * 4 + 1, sums[0]);
    take(sums[1], mask);
  }

 private:
  static constexpr std::uint64_t stream = 0x7ACE;
  static std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::array<Words, 2> added_, factors_;
  std::array<std::uint64_t, 4> keys_;
  Value state_;
};

}  // namespace lathe::ptx
