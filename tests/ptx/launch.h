#pragma once

// How tests of the machine launch a kernel on the emulated device.

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "ptx/emulate.h"
#include "ptx/engine.h"
#include "ptx/module.h"
#include "ptx/program.h"
#include "ptx/tensor_map.h"

namespace lathe::ptx {

inline constexpr std::uint64_t first_address = 0x7000'0000'0000 - 0x1800'0000'0000;

/// A kernel whose parameters are the addresses of its buffers, in order.
class Launched {
 public:
  std::vector<std::vector<std::byte>> buffers;
  Shape shape;
  RunRequest request;
  RunResult result;

  template <class T>
  std::size_t add(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    buffers.push_back(std::move(bytes));
    return buffers.size() - 1;
  }
  template <class T>
  std::vector<T> get(std::size_t i) const {
    std::vector<T> values(buffers[i].size() / sizeof(T));
    std::memcpy(values.data(), buffers[i].data(), values.size() * sizeof(T));
    return values;
  }

  /// Runs the only entry of a module.
  const RunResult& run(const std::string& text) { return run(decoded(text)); }
  /// The same under the order observer, whose findings are kept.
  const RunResult& watch(const std::string& text) { return watch(decoded(text)); }

  std::vector<OrderFinding> findings;
  bool found(OrderFinding::Kind kind) const {
    for (const OrderFinding& finding : findings)
      if (finding.kind == kind) return true;
    return false;
  }

  static Program decoded(const std::string& text) {
    Parsed parsed = parse(text, "test.ptx");
    for (const Error& error : parsed.errors)
      FAIL_CHECK(error.what << " at line " << error.place.line);
    REQUIRE(parsed.errors.empty());
    Result<Program> program = decode(parsed.module, parsed.module.functions.back().name);
    if (!program)
      FAIL(program.error().what << " at line " << program.error().place.line << "; "
                                << program.error().remedy);
    return *std::move(program);
  }
  const RunResult& watch(const Program& program) {
    prepare(program);
    std::vector<Buffer> given;
    std::vector<std::byte*> memory;
    std::vector<std::uint64_t> blocks;
    FootprintObserver footprint;
    for (HostBuffer& buffer : request.buffers) {
      given.push_back(buffer.buffer);
      memory.push_back(buffer.bytes.data());
      footprint.buffers.push_back(
          {buffer.buffer.address, nullptr,
           std::vector<std::uint8_t>(buffer.bytes.size() / FootprintObserver::page_bytes + 1)});
    }
    for (std::uint64_t i = 0; i < shape.blocks(); ++i) blocks.push_back(i);
    OrderObserver order(std::vector<bool>(given.size(), true));
    Both<FootprintObserver, OrderObserver> both(footprint, order);
    Run run{program, shape, given, request.parameters, request.shared_base, request.schedule, 0, 0};
    BitsEnd end = emulate(run, memory, blocks, both);
    result = {};
    result.trap = end.trap;
    findings = order.findings();
    return result;
  }
  /// What a kernel gives alone it gives among several runs too.
  const RunResult& run(const Program& program) {
    prepare(program);
    std::vector<std::vector<std::byte>> before = buffers;
    result = run_bits(request);
    if (!result.trap && request.schedule == AsyncSchedule::at_issue) run_several(before);
    return result;
  }
  bool went_at_once = false;  // All of several runs on other memory did the same instructions.

 private:
  using Contents = std::vector<std::vector<std::byte>>;
  /// Other contents, which may make no sense as what they are.
  static Contents changed(Contents contents, unsigned by) {
    for (std::vector<std::byte>& bytes : contents)
      for (std::size_t i = 0; i < bytes.size(); i += 4) bytes[i] ^= std::byte(by + i / 4 % 3);
    return contents;
  }
  std::optional<Contents> alone(Contents contents) const {
    RunRequest other = request;
    for (std::size_t i = 0; i < contents.size(); ++i) other.buffers[i].bytes = contents[i];
    if (run_bits(other).trap) return std::nullopt;
    return contents;
  }
  /// Several runs, or one under their observer, which asks for more.
  std::optional<std::vector<Contents>> at_once(std::vector<Contents> runs) const {
    std::vector<Buffer> given;
    std::vector<std::vector<std::byte*>> memory(runs.size());
    FootprintObserver footprint;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      given.push_back(request.buffers[i].buffer);
      footprint.buffers.push_back(
          {given[i].address, nullptr,
           std::vector<std::uint8_t>(given[i].bytes / FootprintObserver::page_bytes + 2)});
      for (std::size_t k = 0; k < runs.size(); ++k) memory[k].push_back(runs[k][i].data());
    }
    std::vector<std::uint64_t> blocks = request.blocks;
    for (std::uint64_t i = 0; i < shape.blocks() && request.blocks.empty(); ++i)
      blocks.push_back(i);
    Run all{*request.program, shape, given, request.parameters, request.shared_base};
    if (runs.size() == 1) {
      if (emulate(all, memory[0], blocks, footprint).trap) return std::nullopt;
      return runs;
    }
    std::optional<std::uint64_t> steps = emulate_several(all, memory, blocks, footprint);
    if (!steps) return std::nullopt;
    CHECK(*steps == result.steps);
    return runs;
  }
  void run_several(const Contents& before) {
    if (engine_variant() != "avx2" || !at_once({before})) return;
    auto same = at_once({before, before});
    REQUIRE(same);
    for (const Contents& each : *same) CHECK(each == buffers);
    std::vector<Contents> others{before, changed(before, 1), changed(before, 2)};
    auto different = at_once(others);
    went_at_once = different.has_value();
    for (std::size_t k = 0; k < others.size() && different; ++k) {
      auto expected = alone(others[k]);
      REQUIRE(expected);
      CHECK((*different)[k] == *expected);
    }
  }

 public:
  void prepare(const Program& program) {
    request.program = &program;
    request.shape = shape;
    request.buffers.clear();
    std::vector<std::byte> parameters(program.parameter_bytes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::uint64_t address = first_address + i * 0x1'0000'0000;
      request.buffers.push_back({{"buffer " + std::to_string(i), address, buffers[i].size(), true,
                                  static_cast<int>(i) == multicast},
                                 {buffers[i].data(), buffers[i].size()}});
      if (i < program.parameters.size())
        std::memcpy(parameters.data() + program.parameters[i].offset, &address, 8);
    }
    for (auto [index, bits] : scalars) {
      const ParameterSlot& slot = program.parameters[index];
      std::memcpy(parameters.data() + slot.offset, &bits, slot.bytes);
    }
    for (const auto& [index, bytes] : objects)
      std::memcpy(parameters.data() + program.parameters[index].offset, bytes.data(), bytes.size());
    request.parameters = parameters;
  }
  /// Parameters that are objects: tensor maps.
  std::vector<std::pair<std::size_t, TensorMapBytes>> objects;
  std::vector<std::pair<std::size_t, std::uint64_t>> scalars;
  int multicast = -1;  // Which buffer is a multicast object.
};

inline std::string module_text(const std::string& entry, const std::string& target = "sm_90a",
                               const std::string& version = "8.7") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + entry;
}

/// A kernel of two buffers (out, in) around some lines; %out and %in hold the addresses of this
/// thread's words.
inline std::string body_text(const std::string& registers, const std::string& lines,
                             const std::string& target = "sm_90a",
                             const std::string& version = "8.7") {
  return module_text(".visible .entry test(.param .u64 p0, .param .u64 p1)\n{\n" + registers +
                         "\n.reg .b64 %out, %in, %base, %offset;\n.reg .b32 %tid;\n"
                         "ld.param.u64 %base, [p0];\nmov.u32 %tid, %tid.x;\n"
                         "mul.wide.u32 %offset, %tid, 4;\nadd.s64 %out, %base, %offset;\n"
                         "ld.param.u64 %base, [p1];\nadd.s64 %in, %base, %offset;\n" +
                         lines + "\nret;\n}\n",
                     target, version);
}

/// A text with one piece replaced, which must be there.
inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// It ran to its end, and the order observer found nothing.
inline void no_fault(const Launched& launch) {
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
  for (const OrderFinding& finding : launch.findings)
    FAIL_CHECK(name_of(finding.kind)
               << " at " << finding.address << " by " << finding.first.instruction << ", "
               << finding.second.instruction);
}

inline bool ends(const Launched& launch, TrapKind kind) {
  return launch.result.trap && launch.result.trap->kind == kind;
}

}  // namespace lathe::ptx
