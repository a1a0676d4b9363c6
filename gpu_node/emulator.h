#pragma once

// The emulated device: a contract's tensors in host memory at addresses of their own, inputs made
// from a seed where a kernel reads them, and chosen blocks run on the bits domain under observers.
// The machine itself checks bounds, alignment and that inputs are only read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/inputs.h"
#include "gpu_node/gpu_node.h"
#include "ptx/cost_observer.h"
#include "ptx/footprint.h"
#include "ptx/order.h"
#include "ptx/run.h"

namespace lathe::gpu_node {

/// Bytes that are zero until touched; a page that nobody touches costs nothing.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::uint64_t bytes)
      : bytes_(static_cast<std::byte*>(std::calloc(bytes + 64, 1))), size_(bytes) {}
  std::byte* bytes() const { return bytes_.get(); }
  std::uint64_t size() const { return size_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.get()), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::uint64_t size_ = 0;
};

/// What a launch left: by tensor, empty where it is an input.
struct Launched {
  std::vector<HostMemory> outputs, written;
  std::optional<ptx::Trap> trap;
  std::uint64_t steps = 0;
  std::vector<std::uint8_t> executed;   // By operation of the program: 1 where some lane did.
  ptx::FootprintObserver::Watch watch;  // As LaunchOptions asked, answered.
};

struct LaunchOptions {
  std::vector<std::uint64_t> blocks;
  ptx::AsyncSchedule schedule = ptx::AsyncSchedule::at_issue;
  std::uint64_t steps_max = 0;  // Of a block; 0: no limit.
  ptx::FootprintObserver::Watch watch{};
};

/// Where tensors begin: aligned as the contract promises and not better, so that luck with an
/// address is no help; or as an allocator gives them, which is what sectors are counted with.
enum class Alignment : std::uint8_t { promised, allocated };

class EmulatedDevice {
 public:
  EmulatedDevice(std::shared_ptr<const Contract> contract, InputClass input_class,
                 std::uint64_t seed, Alignment alignment = Alignment::promised);

  /// Runs these blocks on poisoned outputs. Observers may be null. An error is the host's or the
  /// contract's; what the kernel does wrong is a trap.
  Result<Launched> launch(const ptx::Program& program, const LaunchOptions& options,
                          ptx::OrderObserver* order = nullptr, ptx::CostObserver* cost = nullptr);

  /// As many blocks as a launch of about a second has, by what this kernel's first block takes.
  Result<std::vector<std::uint64_t>> choose_blocks(const ptx::Program& program,
                                                   const Limits& limits);

  /// Pages that launches so far have touched; another device of the contract starts there.
  const std::vector<std::vector<std::uint8_t>>& pages() const { return filled_; }
  Result<Done> fill(const std::vector<std::vector<std::uint8_t>>& pages);

  const std::vector<ptx::Buffer>& buffers() const { return buffers_; }
  ptx::Shape shape() const;
  const HostMemory& input(std::size_t tensor) const { return inputs_[tensor]; }

 private:
  Result<Done> fill_page(std::size_t tensor, std::uint64_t page);
  Result<bool> fill_touched(const ptx::FootprintObserver& footprint);
  Result<Launched> prepare(ptx::FootprintObserver& footprint, std::vector<std::byte*>& memory);

  std::shared_ptr<const Contract> contract_;
  InputClass input_class_;
  std::uint64_t seed_;
  std::vector<ptx::Buffer> buffers_;               // By tensor.
  std::vector<HostMemory> inputs_;                 // By tensor; of inout, what it held before.
  std::vector<std::vector<std::uint8_t>> filled_;  // By tensor and page.
};

/// The parameters of the entry as the driver would lay them out.
Result<std::vector<std::byte>> parameters_of(const Contract& contract, const ptx::Program& program,
                                             const std::vector<ptx::Buffer>& buffers);

/// All blocks of a small grid; of a large one the first, the last, those at the edges, and some
/// drawn from the seed. Ascending.
std::vector<std::uint64_t> sample_blocks(const Launch& launch, std::uint64_t blocks_max,
                                         std::uint64_t seed);

/// What a warp instruction of the program costs here, on average, in integer ones.
std::uint64_t weight_of(const ptx::Program& program);

/// Warp instructions that a candidate may take of one block, by what the reference took of all of
/// these blocks: a kernel without end is told from a slow one in seconds. Blocks may differ much,
/// so the heaviest alone may take twice the sum.
std::uint64_t steps_allowed(std::uint64_t reference_steps, std::uint64_t blocks,
                            const Limits& limits);

/// What a trap means for a candidate.
struct TrapVerdict {
  enum class Answer : std::uint8_t { rejected, unsupported, exhausted } answer;
  Evidence evidence;
};
TrapVerdict judge_trap(const ptx::Trap& trap, const EmulatedDevice& device,
                       const ptx::Program& program, std::string_view ptx, std::string_view code);

}  // namespace lathe::gpu_node
