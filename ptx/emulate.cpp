// Chooses the build of the watched engines.

#include "ptx/emulate.h"

#include "ptx/engine.h"

namespace lathe::ptx {

// clang-format off
#define LATHE_EMULATE(O)                                                                    \
  namespace engine_plain {                                                                  \
  BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,                       \
                  std::span<const std::uint64_t> blocks, O& observer);                      \
  }                                                                                         \
  namespace engine_avx2 {                                                                   \
  BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,                       \
                  std::span<const std::uint64_t> blocks, O& observer);                      \
  }                                                                                         \
  BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,                       \
                  std::span<const std::uint64_t> blocks, O& observer) {                     \
    return engine_variant() == "avx2" ? engine_avx2::emulate(run, memory, blocks, observer) \
                                      : engine_plain::emulate(run, memory, blocks, observer); \
  }
// clang-format on

using FootprintAndOrder = Both<FootprintObserver, OrderObserver>;
using FootprintAndCost = Both<FootprintObserver, CostObserver>;
LATHE_EMULATE(FootprintObserver)
LATHE_EMULATE(FootprintAndOrder)
LATHE_EMULATE(FootprintAndCost)

#undef LATHE_EMULATE

namespace engine_avx2 {
std::optional<std::uint64_t> emulate_several(const Run& run,
                                             std::span<const std::vector<std::byte*>> memory,
                                             std::span<const std::uint64_t> blocks,
                                             FootprintObserver& footprint);
}

std::optional<std::uint64_t> emulate_several(const Run& run,
                                             std::span<const std::vector<std::byte*>> memory,
                                             std::span<const std::uint64_t> blocks,
                                             FootprintObserver& footprint) {
  if (engine_variant() != "avx2") return std::nullopt;
  return engine_avx2::emulate_several(run, memory, blocks, footprint);
}

}  // namespace lathe::ptx
