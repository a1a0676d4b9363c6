// Replaying, and the manual's bounds for approximate functions.

#include "tests/witness/replay.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/engine.h"
#include "ptx/module.h"
#include "ptx/program.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint64_t first_address = 0x5800'0000'0000;

/// An error that an approximation may have: relative, and absolute.
struct Bound {
  double relative = 0, absolute = 0;
};

bool begins(std::string_view mnemonic, std::string_view opcode, std::string_view type) {
  return mnemonic.starts_with(opcode) && mnemonic.ends_with(type);
}

/// Table of chapter 9.7.3 and 9.7.4: what each approximation promises. `x` is the true argument.
Bound bound_of(std::string_view mnemonic, double result) {
  const double ulp = 0x1p-23;
  if (begins(mnemonic, "ex2", ".f16") || begins(mnemonic, "ex2", ".f16x2"))
    return {std::exp2(-9.9), 0x1p-24};
  if (begins(mnemonic, "ex2", "bf16") || begins(mnemonic, "ex2", "bf16x2"))
    return {0x1p-7, 0x1p-126};
  if (begins(mnemonic, "tanh", ".f16") || begins(mnemonic, "tanh", ".f16x2"))
    return {0, std::exp2(-10.987)};
  if (begins(mnemonic, "tanh", "bf16") || begins(mnemonic, "tanh", "bf16x2")) return {0, 0x1p-8};
  if (mnemonic.starts_with("tanh")) return {0x1p-11, 0};
  if (mnemonic.starts_with("sin") || mnemonic.starts_with("cos")) return {0, 0x1p-14};
  if (mnemonic.starts_with("lg2"))
    return std::fabs(result) < 1 ? Bound{0, 0x1p-22} : Bound{0x1p-22, 0};
  if (mnemonic.ends_with("f64")) return {0x1p-20, 0};  // rcp and rsqrt: 20 bits.
  if (mnemonic.starts_with("rsqrt")) return {std::exp2(-22.9) + ulp, 0};
  return {2 * ulp, 0x1p-126};  // Two units in the last place.
}

template <class F>
double value_at(const std::string& bytes, std::size_t at) {
  F value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return static_cast<double>(value);
}

double half_at(const std::string& bytes, std::size_t at, bool brain) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes.data() + at, sizeof bits);
  if (brain)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31  ? (fraction != 0 ? NAN : HUGE_VAL)
                : exponent == 0 ? std::ldexp(fraction, -24)
                                : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

bool is_near(std::string_view mnemonic, const std::string& ours, const std::string& theirs) {
  bool wide = mnemonic.ends_with("f64"), narrow = mnemonic.find("f16") != std::string_view::npos;
  bool brain = mnemonic.find("bf16") != std::string_view::npos;
  std::size_t step = wide ? 8 : narrow ? 2 : 4;
  for (std::size_t at = 0; at + step <= ours.size(); at += step) {
    double a = wide     ? value_at<double>(ours, at)
               : narrow ? half_at(ours, at, brain)
                        : value_at<float>(ours, at);
    double b = wide     ? value_at<double>(theirs, at)
               : narrow ? half_at(theirs, at, brain)
                        : value_at<float>(theirs, at);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    Bound bound = bound_of(mnemonic, b);
    if (!(std::fabs(a - b) <= bound.relative * std::fabs(b) + bound.absolute)) return false;
  }
  return true;
}

std::string hex(const std::string& bytes, std::size_t at, std::size_t count) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = count; i-- > 0;) {
    auto byte = static_cast<unsigned char>(at + i < bytes.size() ? bytes[at + i] : 0);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Replayed compare(const Record& record, const std::string& ours) {
  if (ours == record.output) return {};
  std::size_t at = 0, count = 0;
  for (std::size_t i = ours.size(); i-- > 0;)
    if (ours[i] != record.output[i]) at = i & ~std::size_t{3}, ++count;
  std::string detail = "byte " + std::to_string(at) + " of " + std::to_string(ours.size()) +
                       ": here " + hex(ours, at, 4) + ", there " + hex(record.output, at, 4) +
                       "; " + std::to_string(count) + " bytes differ";
  if (is_approximate(record.mnemonic) && is_near(record.mnemonic, ours, record.output))
    return {Agreement::near, detail};
  return {Agreement::different, detail};
}

/// Runs the record's kernel; `output` is what it stored.
Replayed run(const Archive& archive, const Record& record, std::string& output) {
  Kernel kernel;
  kernel.variables = record.variables, kernel.body = record.body;
  Result<Launch> launch = read_launch(record.launch);
  if (!launch) return {Agreement::failed, launch.error().what};
  kernel.launch = *launch;
  Parsed parsed = parse(kernel.module_text(), "witness.ptx");
  if (!parsed.errors.empty())
    return {Agreement::failed, "does not parse: " + parsed.errors[0].what};
  Result<Program> program = decode(parsed.module, "w");
  if (!program) return {Agreement::failed, "does not decode: " + program.error().what};
  std::string input = archive.inputs[record.input];
  output.assign(record.output.size(), '\0');
  RunRequest request;
  request.program = &*program;
  request.shape.grid[0] = record.blocks, request.shape.block[0] = record.threads;
  request.shape.cluster[0] = launch->cluster;
  request.steps_max = 100000;
  request.parameters.resize(program->parameter_bytes);
  std::string* buffers[] = {&output, &input};
  for (std::size_t i = 0; i < 2; ++i) {
    std::uint64_t address = first_address + i * 0x1'0000'0000;
    request.buffers.push_back({{i == 0 ? "out" : "in", address, buffers[i]->size(), true},
                               std::as_writable_bytes(std::span(*buffers[i]))});
    std::memcpy(request.parameters.data() + program->parameters[i].offset, &address, 8);
  }
  for (std::size_t i = 0; i < launch->maps.size(); ++i) {
    auto [map, of_output] = launch->maps[i];
    map.address += request.buffers[of_output ? 0 : 1].buffer.address;
    Result<TensorMapBytes> bytes = encode_tensor_map(map);
    if (!bytes) return {Agreement::failed, bytes.error().what};
    std::memcpy(request.parameters.data() + program->parameters[2 + i].offset, bytes->data(),
                bytes->size());
  }
  RunResult result = run_bits(request);
  if (result.trap)
    return {result.trap->kind == TrapKind::unsupported ? Agreement::unmodelled : Agreement::failed,
            print(*result.trap)};
  return {};
}

}  // namespace

bool is_approximate(std::string_view mnemonic) {
  for (std::string_view word : {".approx", "div.full"})
    if (mnemonic.find(word) != std::string_view::npos) return true;
  return false;
}

Replayed replay(const Archive& archive, const Record& record) {
  std::string output;
  Replayed ran = run(archive, record, output);
  return ran.agreement == Agreement::same ? compare(record, output) : ran;
}

std::string replayed_output(const Archive& archive, const Record& record) {
  std::string output;
  run(archive, record, output);
  return output;
}

}  // namespace lathe::ptx::witness
