#pragma once

// How tests of the machine launch a kernel on the emulated device.

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "ptx/engine.h"
#include "ptx/module.h"
#include "ptx/program.h"

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
  const RunResult& run(const std::string& text) {
    Parsed parsed = parse(text, "test.ptx");
    for (const Error& error : parsed.errors)
      FAIL_CHECK(error.what << " at line " << error.place.line);
    REQUIRE(parsed.errors.empty());
    Result<Program> program = decode(parsed.module, parsed.module.functions.back().name);
    if (!program)
      FAIL(program.error().what << " at line " << program.error().place.line << "; "
                                << program.error().remedy);
    return run(*program);
  }
  const RunResult& run(const Program& program) {
    request.program = &program;
    request.shape = shape;
    request.buffers.clear();
    std::vector<std::byte> parameters(program.parameter_bytes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::uint64_t address = first_address + i * 0x1'0000'0000;
      request.buffers.push_back({{"buffer " + std::to_string(i), address, buffers[i].size(), true},
                                 {buffers[i].data(), buffers[i].size()}});
      if (i < program.parameters.size())
        std::memcpy(parameters.data() + program.parameters[i].offset, &address, 8);
    }
    for (auto [index, bits] : scalars) {
      const ParameterSlot& slot = program.parameters[index];
      std::memcpy(parameters.data() + slot.offset, &bits, slot.bytes);
    }
    request.parameters = parameters;
    result = run_bits(request);
    return result;
  }
  std::vector<std::pair<std::size_t, std::uint64_t>> scalars;
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

}  // namespace lathe::ptx
