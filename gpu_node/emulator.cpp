#include "gpu_node/emulator.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/random.h"
#include "gpu_node/diagnostics.h"
#include "pipeline/host_map.h"
#include "ptx/emulate.h"
#include "ptx/trap_place.h"

namespace lathe::gpu_node {
namespace {

constexpr std::uint64_t page_bytes = ptx::FootprintObserver::page_bytes;
constexpr std::uint64_t whole_bytes = 1 << 20;  // Smaller inputs are made at once.
constexpr std::uint64_t weight_max =
    24'000'000;  // Warp instructions of one launch, about a second.
constexpr std::uint64_t steps_floor = 1'000'000;  // Moments, whatever the reference takes.
constexpr int poison_byte = 0xA5;
constexpr int attempts_max = 16;  // Each reads inputs that the one before could not know of.

std::uint64_t pages_of(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes; }

std::uint64_t address_of(std::size_t tensor, std::uint64_t align, Alignment alignment) {
  return (std::uint64_t{tensor} + 1) * 0x20'0000'0000 +
         (alignment == Alignment::promised ? align : 0);
}

std::optional<InputClass> class_of(const Tensor& tensor, InputClass input_class) {
  if (tensor.role == Role::input || tensor.role == Role::inout) return input_class;
  return {};
}

/// Whether a page begins and ends at pieces of whole elements.
bool is_paged(const Tensor& tensor) {
  return tensor.span_bytes() > whole_bytes && page_bytes * 8 % bits_of(tensor.dtype) == 0 &&
         page_bytes * 8 / bits_of(tensor.dtype) % elements_per_piece == 0;
}

}  // namespace

EmulatedDevice::EmulatedDevice(std::shared_ptr<const Contract> contract, InputClass input_class,
                               std::uint64_t seed, Alignment alignment)
    : contract_(std::move(contract)), input_class_(input_class), seed_(seed) {
  for (std::size_t i = 0; i < contract_->tensors.size(); ++i) {
    const Tensor& tensor = contract_->tensors[i];
    buffers_.push_back({tensor.name, address_of(i, tensor.align, alignment), tensor.span_bytes(),
                        tensor.role != Role::input});
    bool has_input = class_of(tensor, input_class_).has_value();
    inputs_.push_back(has_input ? HostMemory(tensor.span_bytes()) : HostMemory());
    filled_.emplace_back(pages_of(tensor.span_bytes()), 0);
  }
}

ptx::Shape EmulatedDevice::shape() const {
  const Launch& launch = contract_->launch;
  return {launch.grid, launch.block, launch.dynamic_shared_bytes, launch.cluster};
}

Result<Done> EmulatedDevice::fill_page(std::size_t tensor, std::uint64_t page) {
  const Tensor& made = contract_->tensors[tensor];
  if (!class_of(made, input_class_)) {  // Poisoned before the next run.
    filled_[tensor][page] = 1;
    return Done{};
  }
  if (!is_paged(made)) {
    Result<std::string> all = make_input(*contract_, tensor, input_class_, seed_);
    if (!all) return all.error();
    std::memcpy(inputs_[tensor].bytes(), all->data(),
                std::min(all->size(), inputs_[tensor].size()));
    std::fill(filled_[tensor].begin(), filled_[tensor].end(), 1);
    return Done{};
  }
  std::uint64_t bits = bits_of(made.dtype), begin = page * page_bytes;
  std::uint64_t bytes = std::min(page_bytes, made.span_bytes() - begin);
  Result<std::string> part =
      make_input_part(*contract_, tensor, input_class_, seed_, begin * 8 / bits, bytes * 8 / bits);
  if (!part) return part.error();
  std::memcpy(inputs_[tensor].bytes() + begin, part->data(), part->size());
  filled_[tensor][page] = 1;
  return Done{};
}

Result<Done> EmulatedDevice::fill(const std::vector<std::vector<std::uint8_t>>& pages) {
  for (std::size_t tensor = 0; tensor < filled_.size() && tensor < pages.size(); ++tensor)
    for (std::uint64_t page = 0; page < filled_[tensor].size(); ++page)
      if (filled_[tensor][page] == 0 && pages[tensor][page] != 0)
        if (Result<Done> done = fill_page(tensor, page); !done) return done;
  return Done{};
}

/// Makes what was touched and not yet there; true where that was anything.
Result<bool> EmulatedDevice::fill_touched(const ptx::FootprintObserver& footprint) {
  bool any = false;
  for (std::size_t tensor = 0; tensor < filled_.size(); ++tensor)
    for (std::uint64_t page = 0; page < filled_[tensor].size(); ++page) {
      if (filled_[tensor][page] != 0 || footprint.buffers[tensor].pages[page] == 0) continue;
      if (Result<Done> done = fill_page(tensor, page); !done) return done.error();
      any = true;
    }
  return any;
}

Result<Launched> EmulatedDevice::prepare(ptx::FootprintObserver& footprint,
                                         std::vector<std::byte*>& memory) {
  Launched launched;
  for (std::size_t i = 0; i < contract_->tensors.size(); ++i) {
    const Tensor& tensor = contract_->tensors[i];
    std::uint64_t bytes = tensor.span_bytes();
    bool writable = buffers_[i].writable;
    launched.outputs.push_back(writable ? HostMemory(bytes) : HostMemory());
    launched.written.push_back(writable ? HostMemory(bytes) : HostMemory());
    if (writable &&
        (launched.outputs[i].bytes() == nullptr || launched.written[i].bytes() == nullptr))
      return Error{Fault::exhausted, "no memory for tensor " + tensor.name, "", {}};
    if (!writable && inputs_[i].bytes() == nullptr)
      return Error{Fault::exhausted, "no memory for tensor " + tensor.name, "", {}};
    for (std::uint64_t page = 0; writable && page < filled_[i].size(); ++page) {
      if (filled_[i][page] == 0) continue;
      std::uint64_t begin = page * page_bytes, size = std::min(page_bytes, bytes - begin);
      if (tensor.role == Role::inout)
        std::memcpy(launched.outputs[i].bytes() + begin, inputs_[i].bytes() + begin, size);
      else
        std::memset(launched.outputs[i].bytes() + begin, poison_byte, size);
    }
    memory.push_back(writable ? launched.outputs[i].bytes() : inputs_[i].bytes());
    footprint.buffers.push_back(
        {buffers_[i].address,
         writable ? reinterpret_cast<std::uint8_t*>(launched.written[i].bytes()) : nullptr,
         std::vector<std::uint8_t>(pages_of(bytes), 0)});
  }
  return launched;
}

Result<Launched> EmulatedDevice::launch(const ptx::Program& program, const LaunchOptions& options,
                                        ptx::OrderObserver* order, ptx::CostObserver* cost) {
  Result<std::vector<std::byte>> parameters = parameters_of(*contract_, program, buffers_);
  if (!parameters) return parameters.error();
  ptx::Run run{program, shape(), buffers_, *parameters, 1024, options.schedule, options.steps_max};
  auto attempt = [&](auto&& emulate_with) -> Result<Launched> {
    ptx::FootprintObserver footprint;
    std::vector<std::byte*> memory;
    Result<Launched> launched = prepare(footprint, memory);
    if (!launched) return launched;
    footprint.watch = options.watch;
    ptx::BitsEnd end = emulate_with(footprint, memory);
    launched->watch = footprint.watch;
    launched->trap = std::move(end.trap);
    launched->steps = end.steps;
    launched->executed = std::move(footprint.executed);
    Result<bool> more = fill_touched(footprint);
    if (!more) return more.error();
    if (*more) return Launched{};
    return launched;
  };
  // Inputs appear where they are read; once a run touches nothing new, what it computed is right.
  for (int i = 0; i < attempts_max; ++i) {
    if (order != nullptr) order->restart();
    if (cost != nullptr) cost->restart();
    Result<Launched> launched = attempt([&](ptx::FootprintObserver& footprint, auto& memory) {
      if (order != nullptr) {
        ptx::Both<ptx::FootprintObserver, ptx::OrderObserver> both(footprint, *order);
        return ptx::emulate(run, memory, options.blocks, both);
      }
      if (cost != nullptr) {
        ptx::Both<ptx::FootprintObserver, ptx::CostObserver> both(footprint, *cost);
        return ptx::emulate(run, memory, options.blocks, both);
      }
      return ptx::emulate(run, memory, options.blocks, footprint);
    });
    if (!launched) return launched;
    if (launched->outputs.empty() && !buffers_.empty()) continue;
    return launched;
  }
  return Error{
      Fault::exhausted, "each run reads inputs that depend on what it read before", "", {}};
}

Result<std::vector<std::byte>> parameters_of(const Contract& contract, const ptx::Program& program,
                                             const std::vector<ptx::Buffer>& buffers) {
  if (program.parameters.size() != contract.parameters.size())
    return Error{Fault::malformed,
                 "the entry has " + std::to_string(program.parameters.size()) +
                     " parameters, the contract " + std::to_string(contract.parameters.size()),
                 "",
                 {}};
  std::vector<std::byte> bytes(program.parameter_bytes);
  for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
    const Parameter& parameter = contract.parameters[i];
    const ptx::ParameterSlot& slot = program.parameters[i];
    if (parameter.map) {
      auto map = make_tensor_map(contract, i, buffers[*parameter.tensor].address);
      if (!map) return map.error();
      std::memcpy(bytes.data() + slot.offset, map->data(),
                  std::min<std::size_t>(slot.bytes, map->size()));
      continue;
    }
    std::uint64_t value = parameter.tensor ? buffers[*parameter.tensor].address : parameter.bits;
    std::memcpy(bytes.data() + slot.offset, &value, std::min<std::size_t>(slot.bytes, 8));
  }
  return bytes;
}

std::vector<std::uint64_t> sample_blocks(const Launch& launch, std::uint64_t blocks_max,
                                         std::uint64_t seed) {
  std::uint64_t all = launch.blocks();
  std::set<std::uint64_t> chosen;
  if (all <= blocks_max) {
    for (std::uint64_t i = 0; i < all; ++i) chosen.insert(i);
    return {chosen.begin(), chosen.end()};
  }
  std::uint64_t x = launch.grid[0], y = launch.grid[1], z = launch.grid[2];
  for (std::uint64_t edge : {std::uint64_t{0}, all - 1, x - 1, x * (y - 1), x * y - 1,
                             x * y * (z - 1), all - x, std::uint64_t{1}, all - 2})
    if (edge < all && chosen.size() < std::max<std::uint64_t>(2, blocks_max)) chosen.insert(edge);
  for (std::uint64_t i = 0; chosen.size() < blocks_max; ++i)
    chosen.insert(philox64(seed, 0x626c6f636b, i) % all);
  return {chosen.begin(), chosen.end()};
}

std::uint64_t weight_of(const ptx::Program& program) {
  bool has_matrices = std::any_of(
      program.operations.begin(), program.operations.end(),
      [](const ptx::Operation& operation) { return operation.cost == ptx::CostClass::matrix; });
  return has_matrices ? 200 : 1;
}

std::uint64_t steps_allowed(std::uint64_t reference_steps, std::uint64_t blocks,
                            const Limits& limits) {
  std::uint64_t block = reference_steps / std::max<std::uint64_t>(1, blocks);
  return std::min(limits.steps_max,
                  steps_floor + limits.steps_factor * block + 2 * reference_steps);
}

TrapVerdict judge_trap(const ptx::Trap& trap, const EmulatedDevice& device,
                       const ptx::Program& program, std::string_view ptx, std::string_view code) {
  using Kind = ptx::TrapKind;
  TrapVerdict verdict{TrapVerdict::Answer::rejected, {}};
  if (trap.kind == Kind::unsupported || trap.kind == Kind::undecided)
    verdict.answer = TrapVerdict::Answer::unsupported;
  if (trap.kind == Kind::exhausted) verdict.answer = TrapVerdict::Answer::exhausted;
  Json json;
  json["fault"] = ptx::name_of(trap.kind);
  json["line"] = trap.line;
  json["column"] = trap.column;
  json["source"] = std::string(source_line(ptx, trap.line));
  json["block"] = trap.block;
  json["thread"] = trap.thread;
  json["what"] = trap.what;
  if (trap.kind == Kind::exhausted)
    json["help"] =
        "a block may take fifty times what the reference takes; is there a loop without end?";
  if (trap.address != 0) json["address"] = trap.address;
  ptx::TrapPlace place = ptx::place_of(trap, program, device.shape(), device.buffers());
  if (place.buffer) {
    const ptx::Buffer& buffer = device.buffers()[*place.buffer];
    json["tensor"] = buffer.name;
    json["offset_bytes"] = place.offset;
    json["tensor_bytes"] = buffer.bytes;
  }
  verdict.evidence = {std::string(code.empty() ? ptx::name_of(trap.kind) : code),
                      std::string(ptx::name_of(trap.kind)) + " in block " +
                          std::to_string(trap.block) + ", thread " + std::to_string(trap.thread) +
                          ": " + ptx::sentence(trap, program, device.shape(), device.buffers()),
                      {"", trap.line, trap.column},
                      json.dump()};
  return verdict;
}

Result<std::vector<std::uint64_t>> EmulatedDevice::choose_blocks(const ptx::Program& program,
                                                                 const Limits& limits) {
  LaunchOptions first{{0}, ptx::AsyncSchedule::at_issue, limits.steps_max, {}};
  Result<Launched> launched = launch(program, first);
  if (!launched) return launched.error();
  std::uint64_t weight = std::max<std::uint64_t>(1, launched->steps) * weight_of(program);
  std::uint64_t affordable = std::max<std::uint64_t>(2, weight_max / weight);
  return sample_blocks(contract_->launch, std::min(affordable, limits.blocks_max), limits.seed);
}

}  // namespace lathe::gpu_node
