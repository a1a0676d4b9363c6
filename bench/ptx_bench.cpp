// uses: ptx
// How fast the emulated device runs: thread-instructions of straight-line scalar code and of a
// softmax, a tile of a matrix product by mma.sync and by wgmma; and the parser. One core.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "ptx/engine.h"
#include "ptx/module.h"

using namespace lathe::ptx;

namespace {

struct Launch {
  Program program;
  RunRequest request;
  std::vector<std::vector<std::byte>> buffers;
};

/// Numbers of both signs between 2^-4 and 2, in f16.
std::vector<std::byte> halves(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i + 2 <= bytes; i += 2) {
    std::uint64_t random = lathe::philox64(seed, 0, i);
    auto half = static_cast<std::uint16_t>((random & 0x83FF) | (11 + random % 5) << 10);
    std::memcpy(&values[i], &half, 2);
  }
  return values;
}

bool prepare(Launch& launch, const std::string& text, std::vector<std::size_t> bytes,
             std::vector<std::pair<std::size_t, std::uint64_t>> scalars, Shape shape) {
  Parsed parsed = parse(text, "bench.ptx");
  if (!parsed.errors.empty()) {
    std::printf("%s\n", parsed.errors[0].what.c_str());
    return false;
  }
  auto program = decode(parsed.module, parsed.module.functions.back().name);
  if (!program) {
    std::printf("%s\n", program.error().what.c_str());
    return false;
  }
  launch.program = *program;
  launch.request.program = &launch.program;
  launch.request.shape = shape;
  launch.request.parameters.resize(launch.program.parameter_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    launch.buffers.push_back(halves(bytes[i], i));
    std::uint64_t address = 0x1000'0000'0000 + i * 0x10'0000'0000;
    launch.request.buffers.push_back({{"b", address, bytes[i], true}, launch.buffers[i]});
    std::memcpy(launch.request.parameters.data() + launch.program.parameters[i].offset, &address,
                8);
  }
  for (auto [i, value] : scalars)
    std::memcpy(launch.request.parameters.data() + launch.program.parameters[i].offset, &value,
                launch.program.parameters[i].bytes);
  return true;
}

/// Of this process: others may share the core.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Seconds of one run, of several samples: a shared machine only ever adds to them.
struct Seconds {
  double least = 0, median = 0, most = 0;
};

/// Each sample is the mean of as many runs as a seventh of a second takes.
template <class Once>
Seconds timed(Once once) {
  constexpr std::size_t samples = 9;
  std::array<double, samples> each{};
  for (double& sample : each) {
    double start = cpu_seconds(), s = 0;
    unsigned runs = 0;
    for (; s < 1.0 / 7; s = cpu_seconds() - start, ++runs) once();
    sample = s / runs;
  }
  std::sort(each.begin(), each.end());
  return {each.front(), each[samples / 2], each.back()};
}

Seconds run(Launch& launch, RunResult& result) {
  return timed([&] {
    result = run_bits(launch.request);
    if (result.trap) std::printf("%s\n", print(*result.trap).c_str());
  });
}

/// So much work a second: the fastest sample, then the median and the slowest.
void print_rate(const char* what, double work, const Seconds& s, const char* unit) {
  std::printf("%s: %.2f %s (median %.2f, slowest %.2f)\n", what, work / s.least, unit,
              work / s.median, work / s.most);
}

std::string file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string scalar_code() {
  std::string body;
  const char* lines[] = {"add.u32 %r1, %r2, %r3;",
                         "mad.lo.s32 %r4, %r1, %r2, %r3;",
                         "shl.b32 %r5, %r4, 3;",
                         "xor.b32 %r6, %r5, %r1;",
                         "setp.lt.s32 %p1, %r6, %r2;",
                         "selp.b32 %r7, %r6, %r5, %p1;",
                         "mul.wide.u32 %d1, %r7, %r1;",
                         "add.s64 %d2, %d1, %d2;",
                         "fma.rn.f32 %f1, %f2, %f3, %f1;",
                         "fma.rn.ftz.f32 %f2, %f2, %f3, %f1;",
                         "mul.f32 %f3, %f1, %f4;",
                         "add.ftz.f32 %f4, %f3, %f2;",
                         "max.s32 %r8, %r7, %r4;",
                         "shr.s32 %r2, %r8, 1;",
                         "and.b32 %r3, %r2, %r8;",
                         "mov.b32 %r9, %r3;",
                         "sub.s32 %r4, %r9, %r8;",
                         "min.u32 %r5, %r4, %r9;",
                         "or.b32 %r6, %r5, %r2;",
                         "not.b32 %r7, %r6;",
                         "lop3.b32 %r8, %r7, %r6, %r5, 0x96;",
                         "cvt.rn.f32.s32 %f5, %r8;",
                         "max.f32 %f6, %f5, %f1;",
                         "sub.f32 %f1, %f6, %f5;"};
  for (int copy = 0; copy < 16; ++copy)
    for (const char* line : lines) body += std::string(line) + "\n";
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
         ".reg .b32 %r<10>;\n.reg .f32 %f<7>;\n.reg .b64 %d<3>;\n.reg .pred %p<3>;\n"
         ".reg .b32 %i;\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, 7;\nmov.u64 %d2, 0;\n"
         "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n"
         "mov.u32 %i, 0;\nloop:\n" +
         body + "add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, 5000;\n@%p2 bra loop;\nret;\n}\n";
}

struct Tile {
  std::uint32_t threads = 0, shared_bytes = 0;
};

/// One block that multiplies 128 x 2048 by 2048 x 128, in steps of 64.
void print_tile(const char* form, const std::string& path, Tile tile) {
  constexpr std::uint64_t side = 128, k = 2048, step = 64;
  Launch gemm;
  RunResult result;
  if (!prepare(gemm, file(path), {side * k * 2, k * side * 2, side * side * 2},
               {{3, side}, {4, side}, {5, k}, {6, k}, {7, side}, {8, side}},
               {{1, 1, 1}, {tile.threads, 1, 1}, tile.shared_bytes}))
    return;
  Seconds s = run(gemm, result);
  double of_step = 1e3 / static_cast<double>(k / step);
  std::printf("a tile step of 128 x 128 x 64 in fp16 by %s: %.2f ms (median %.2f, slowest %.2f)\n",
              form, s.least * of_step, s.median * of_step, s.most * of_step);
}

/// Resident memory at its peak, in MB.
double resident() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

/// 1024 threads of which each has 256 kB of local memory and touches four bytes of it.
void print_memory() {
  const char* text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".local .align 16 .b8 spare[262144];\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid.x;\n"
      "st.local.u32 [spare+65536], %r1;\nld.local.u32 %r2, [spare+65536];\nret;\n}\n";
  Launch launch;
  if (!prepare(launch, text, {64}, {}, {{1, 1, 1}, {1024, 1, 1}, 0})) return;
  double before = resident();
  RunResult result = run_bits(launch.request);
  if (result.trap) std::printf("%s\n", print(*result.trap).c_str());
  std::printf("a kernel of 268 MB of local memory that touches 4 kB: %.0f MB resident\n",
              resident() - before);
}

}  // namespace

int main() {
  std::printf("engine %.*s\n", static_cast<int>(engine_variant().size()), engine_variant().data());
  print_memory();
  RunResult result;
  Launch scalar;
  if (prepare(scalar, scalar_code(), {64}, {}, {{1, 1, 1}, {128, 1, 1}, 0})) {
    Seconds s = run(scalar, result);
    print_rate("scalar code of 24 opcodes", static_cast<double>(result.steps) * 32 / 1e9, s,
               "G thread-instructions/s");
  }
  const std::string contracts = std::string(LATHE_ROOT) + "/suite/contracts/";
  {
    std::string text = file(contracts + "gemm_fp16_sm_89/reference.ptx");
    Seconds s = timed([&] {
      Parsed parsed = parse(text, "bench.ptx");
      if (!parsed.errors.empty()) std::printf("%s\n", parsed.errors[0].what.c_str());
    });
    std::string what = "parser, on a file of " + std::to_string(text.size() / 1000) + " kB";
    print_rate(what.c_str(), static_cast<double>(text.size()) / 1e6, s, "MB/s");
  }
  Launch softmax;
  if (prepare(softmax, file(contracts + "softmax_fp16_sm_89/reference.ptx"),
              {256 * 8192, 256 * 8192}, {{2, 4096}}, {{256, 1, 1}, {128, 1, 1}, 16})) {
    Seconds s = run(softmax, result);
    print_rate("softmax, rows of 4096", static_cast<double>(result.steps) * 32 / 1e9, s,
               "G thread-instructions/s");
  }
  print_tile("mma.sync", contracts + "gemm_fp16_sm_89/reference.ptx", {128, 49152});
  const std::string tiles = std::string(LATHE_ROOT) + "/tests/kernels/alternatives/gemm_fp16_";
  print_tile("wgmma", tiles + "sm_90a/tile128x128_warps8.ptx", {256, 65536});
  print_tile("tcgen05.mma", tiles + "sm_100a/tile128x128_warps8.ptx", {256, 65552});
}
