// uses: verifier_node
// Runs the verifier over the kernels of Volta's public evaluation: `volta_bench KERNELS [FILTER]`,
// where KERNELS is the folder crates/volta_bench/kernels of a snapshot (scripts/volta fetches one).
// Each of the 39 verdicts is stated here; the tool exits with 1 where one is another. As Volta
// does, the first block is compared, all elements of it; both kernels of a pair are also checked
// for races.
//
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "base/files.h"
#include "verifier_node/binding.h"
#include "verifier_node/kept.h"
#include "verifier_node/replay.h"
#include "verifier_node/verify.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// Several pairs have one reference.
constexpr std::uint64_t kept_bytes_max = std::uint64_t{128} << 20;

struct Kernel {
  std::string file;
  std::array<std::uint32_t, 3> block;
};

struct Verdict {
  std::string name, shape;  // Parameters and tensors, as `contract_text` reads them.
  std::array<std::uint32_t, 3> grid;
  std::uint32_t dynamic_shared_bytes;
  Kernel reference, candidate;
  bool racy = false;
  /// Equal over the reals, which is all that Volta asks; but the candidate's tensor cores take f16
  /// where the reference multiplies f32, and the right verdict says so.
  bool narrower = false;
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string entry_of(const std::string& ptx) {
  std::size_t at = ptx.find(".entry ") + 7;
  return ptx.substr(at, ptx.find('(', at) - at);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The register after a key, up to what ends it.
std::string register_after(const std::string& text, const std::string& key, char end) {
  std::size_t at = text.find(key);
  if (at == std::string::npos) return "";
  at = text.find('%', at + key.size());
  return at == std::string::npos ? "" : text.substr(at, text.find(end, at) - at);
}

/// Each call in braces of the function that stands for exp becomes 2 to the log2(e)-fold.
std::string with_exponentials(std::string text) {
  std::size_t at = 0;
  while ((at = text.find("call.uni", at)) != std::string::npos) {
    std::size_t begin = text.rfind('{', at), end = text.find('}', at);
    std::string call = text.substr(begin, end + 1 - begin);
    std::string from = register_after(call, "st.param.f32", ';');
    std::string to = register_after(call, "ld.param.f32", ',');
    if (call.find("__symexpf") == std::string::npos || from.empty() || to.empty()) {
      ++at;
      continue;
    }
    text.replace(begin, call.size(),
                 "mul.f32 " + to + ", " + from + ", 0f3FB8AA3B;\n\tex2.approx.ftz.f32 " + to +
                     ", " + to + ";");
    at = begin;
  }
  return text;
}

/// The file as it is verified: its entry renamed to `pair`, the parameters that only the other
/// kernel has appended, the undefined function that stands for exp linked in, and values given to
/// the module's variables, which are the host's to set.
std::string linked(const fs::path& path, std::size_t parameters) {
  std::string text = text_of(path), entry = entry_of(text);
  text = replaced(text, entry, "pair");
  std::size_t begin = text.find("pair(") + 5, end = text.find(')', begin);
  std::string list = text.substr(begin, end - begin);
  auto have = static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1;
  for (; have < parameters; ++have) list += ",\n\t.param .u64 more_" + std::to_string(have) + "\n";
  text.replace(begin, end - begin, list);
  static const std::regex variable(R"(\.global \.align 4 \.u32 (\w+);)");
  std::smatch found;
  for (int value = 1001; std::regex_search(text, found, variable); ++value)
    text.replace(static_cast<std::size_t>(found.position()),
                 static_cast<std::size_t>(found.length()),
                 ".global .align 4 .u32 " + found[1].str() + " = " + std::to_string(value) + ";");
  return with_exponentials(std::move(text));
}

/// `A:f32:64x4096/4096:input` is a tensor with its row stride; `alpha=f32:1.25` a scalar.
std::string contract_text(const Verdict& verdict) {
  std::string parameters, tensors;
  std::istringstream in(verdict.shape);
  for (std::string word; in >> word;) {
    if (std::size_t equals = word.find('='); equals != std::string::npos) {
      std::size_t colon = word.find(':');
      parameters += "[[parameter]]\nname = \"" + word.substr(0, equals) + "\"\ntype = \"" +
                    word.substr(equals + 1, colon - equals - 1) +
                    "\"\nvalue = " + word.substr(colon + 1) + "\n";
      continue;
    }
    std::string parts[4];
    std::istringstream pieces(word);
    for (std::string& part : parts) std::getline(pieces, part, ':');
    std::string stride =
        parts[2].find('/') == std::string::npos ? "" : parts[2].substr(parts[2].find('/') + 1);
    std::string shape = replaced(parts[2].substr(0, parts[2].find('/')), "x", ", ");
    parameters += "[[parameter]]\nname = \"" + parts[0] + "\"\ntensor = \"" + parts[0] + "\"\n";
    tensors += "[[tensor]]\nname = \"" + parts[0] + "\"\ndtype = \"" + parts[1] + "\"\nshape = [" +
               shape + "]\nrole = \"" + (parts[3] == "index" ? "input" : parts[3]) +
               "\"\nalign = 256\n";
    if (!stride.empty()) tensors += "strides = [" + stride + ", 1]\n";
    if (parts[3] == "index")
      tensors += "values = \"permutation\"\n";
    else if (parts[3] == "output")
      continue;
    else if (parts[1][0] != 'f')
      tensors += "values = {integers = [0, 1000]}\n";
    else
      tensors += "values = {uniform = [-1.0, 1.0]}\n";
  }
  auto triple = [](const std::array<std::uint32_t, 3>& n) {
    return "[" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) +
           "]\n";
  };
  return "format = 1\nname = \"volta\"\nentry = \"pair\"\ntarget = \"sm_89\"\nptx_isa = \"9.3\"\n"
         "[launch]\ngrid = " +
         triple(verdict.grid) + "block = " + triple(verdict.reference.block) +
         "dynamic_shared_bytes = " + std::to_string(verdict.dynamic_shared_bytes) + "\n" +
         parameters + tensors + "[tolerance]\nabsolute = 1e-2\nrelative = 1e-2\n";
}

std::vector<Verdict> verdicts() {
  using Block = std::array<std::uint32_t, 3>;
  std::vector<Verdict> all;
  auto add = [&](std::string name, std::string shape, Block grid, std::uint32_t shared,
                 Kernel reference, Kernel candidate, bool racy = false) {
    all.push_back({std::move(name), std::move(shape), grid, shared, std::move(reference),
                   std::move(candidate), racy});
  };
  Kernel red1{"01_reduction/Red-1.ptx", {128, 1, 1}};
  for (int i = 1; i <= 4; ++i)
    add("Red-1, Red-" + std::to_string(i), "in:s32:192:input out:s32:1:output", {1, 1, 1}, 0, red1,
        {"01_reduction/Red-" + std::to_string(i) + ".ptx", {128, 1, 1}});
  for (int i = 5; i <= 7; ++i) {
    Kernel racy{"01_reduction/Red-" + std::to_string(i) + "_racy.ptx", {128, 1, 1}};
    add("Red-" + std::to_string(i) + " (racy)", "in:s32:192:input out:s32:1:output", {1, 1, 1},
        2048, racy, racy, true);
  }
  const std::string sgemm =
      "A:f32:64x4096:input B:f32:4096x64/4096:input C:f32:64x64/4096:inout alpha=f32:1.25 "
      "beta=f32:0.75";
  const std::uint32_t threads[] = {512, 512, 128, 128, 128, 256, 256};
  for (int i = 1; i <= 7; ++i)
    add("MatMul-1, MatMul-" + std::to_string(i), sgemm, {64, 64, 1}, 0,
        {"02_matmul/MatMul-1.ptx", {512, 1, 1}},
        {"02_matmul/MatMul-" + std::to_string(i) + ".ptx", {threads[i - 1], 1, 1}});
  // Two of the kernels keep sums and maxima; one shape for all lets the reference be run once.
  const std::string attention =
      "Q:f32:16x64:input K:f32:512x64:input V:f32:512x64:input O:f32:16x64:output scale=f32:0.125 "
      "l:f32:16:scratch m:f32:16:scratch";
  auto attend = [&](const std::string& folder, const std::string& left, std::uint32_t left_threads,
                    const std::string& right, std::uint32_t right_threads) {
    add(left + ", " + right, attention, {1, 1, 1}, 0,
        {folder + left + ".ptx", {left_threads, 1, 1}},
        {folder + right + ".ptx", {right_threads, 1, 1}});
  };
  for (const char* level : {"Attention", "FA1", "FA1-TC", "FA2-TC"}) {
    std::uint32_t count = std::string(level) == "Attention" ? 1 : 128;
    attend("03_attention/", "Attention", 1, level, count);
    all.back().narrower = std::string(level).ends_with("TC");
  }
  for (const char* level : {"Attention", "FA1", "FA1-TC", "FA2-TC"}) {
    std::string name = std::string("Causal-") + level;
    std::uint32_t count = name == "Causal-Attention" ? 1 : 128;
    attend("04_causal_attention/", name + "-naive", count, name + "-fused", count);
  }
  // Lanes read what wmma.store of the others wrote, and no bar.warp.sync is left in between: the
  // file's comments say where one stood. The manual lets barriers order memory, not .sync.
  add("Conv2D-ref, Conv2D-opt",
      "input:f32:150528:input weight:f32:34848:input bias:f32:96:input output:f32:290400:output",
      {2364, 1, 1}, 0, {"05_conv2d_llm/Conv2D-ref.ptx", {256, 1, 1}},
      {"05_conv2d_llm/Conv2D-opt.ptx", {256, 1, 1}}, true);
  for (int i = 1; i <= 3; ++i) {
    add("MatMul-1-32x32, GEMM-" + std::to_string(i),
        "A:f32:32x4096:input B:f32:4096x32/4096:input C:f32:32x32/4096:inout", {16384, 1, 1}, 0,
        {"06_agent_gemm/MatMul-1-ref_32x32.ptx", {512, 1, 1}},
        {"06_agent_gemm/GEMM-" + std::to_string(i) + ".ptx", {512, 1, 1}});
    all.back().narrower = i == 3;
  }
  for (const auto& [size, rows, columns] :
       {std::tuple{"32x32x32", "32", "32"}, {"64x32x32", "64", "32"}, {"64x64x32", "64", "64"}}) {
    std::string shape = std::string("A:f16:") + rows +
                        "x4096:input B:f16:4096x4096:input C:f16:" + rows + "x" + columns +
                        "/4096:output";
    add(std::string("TL-") + size + "-ref, -opt", shape, {128, 128, 1}, 98304,
        {std::string("07_tilelang/") + size + "-ref.ptx", {128, 1, 1}},
        {std::string("07_tilelang/") + size + "-opt.ptx", {128, 1, 1}});
  }
  auto both = [&](const std::string& name, const std::string& shape, Block grid,
                  std::uint32_t shared, Block before, Block after) {
    Kernel racy{"08_races/" + name + "-pre_racy.ptx", before};
    Kernel fixed{"08_races/" + name + "-post_fixed.ptx", after};
    add(name + " (pre-fix)", shape, grid, shared, racy, racy, true);
    add(name + " (post-fix)", shape, grid, shared, fixed, fixed);
  };
  both("BucketPositions", "offset:u32:1024:inout", {1, 1, 1}, 65536, {64, 1, 1}, {64, 1, 1});
  both("ComputeRange", "data:s32:1024:input range:s32:2:output", {1, 1, 1}, 65536, {64, 1, 1},
       {64, 1, 1});
  both("ReduceValue",
       "posq:f32:4096:input refpos:f32:4096:input particles:s32:1024:index buffer:f32:16:inout",
       {1, 1, 1}, 65536, {64, 1, 1}, {64, 1, 1});
  both("LayerNorm",
       "out:f32:2048:output mean:f32:2:output invvar:f32:2:output vals:f32:2048:input n1=u32:2 "
       "n2=u32:1024 eps=f32:1e-5 gamma:f32:1024:input beta:f32:1024:input g=u32:1 b=u32:1",
       {1, 2, 1}, 0, {32, 1, 1}, {32, 1, 1});
  both("GradInput",
       "dout:f32:64:input input:f32:64:input mean:f32:8:input invvar:f32:8:input eps=f32:1e-5 "
       "gamma:f32:8:input grad:f32:64:output",
       {1, 64, 1}, 65536, {32, 4, 1}, {32, 1, 1});
  return all;
}

/// Whether a kernel runs by itself, its order watched, copies landing early and late.
bool ordered(const ptx::Module& module, const Contract& contract) {
  verifier_node::Sides sides;
  Result<ptx::Program> program = ptx::decode(module, contract.entry);
  if (!program) return false;
  sides.contract = &contract;
  sides.buffers = verifier_node::buffers_of(contract);
  sides.parameters = verifier_node::parameter_bytes(contract);
  sides.reference.module = &module;
  sides.reference.program = *std::move(program);
  sides.reference.launch = contract.launch;
  const auto& operations = sides.reference.program.operations;
  bool copies = std::any_of(operations.begin(), operations.end(), [](const ptx::Operation& op) {
    return op.effect == ptx::Effect::copy_async;
  });
  verifier_node::Replay replay(sides);
  if (!replay.use_inputs(InputClass::declared, 1)) return false;
  for (auto schedule : {ptx::AsyncSchedule::at_issue, ptx::AsyncSchedule::at_wait}) {
    if (schedule == ptx::AsyncSchedule::at_wait && !copies) continue;
    verifier_node::Replayed run =
        replay.run(verifier_node::Side::reference, {0}, schedule, /*watch_order=*/true);
    if (run.trap || !run.races.empty()) return false;
  }
  return true;
}

/// One verdict; `said` is what the verifier answered.
bool right(const Verdict& verdict, const fs::path& kernels,
           const std::shared_ptr<verifier_node::Kept>& kept, std::string& said) {
  Result<Contract> contract = parse_contract(contract_text(verdict), "volta.toml");
  if (!contract) {
    said = contract.error().what;
    return false;
  }
  std::size_t count = contract->parameters.size();
  std::string text = linked(kernels / verdict.reference.file, count);
  // Where races are all that is asked for, beside a kernel that does nothing: the racy one's own
  // results are not to be relied on.
  if (verdict.racy && verdict.reference.file == verdict.candidate.file)
    text.replace(text.find('{', text.find("pair(")), std::string::npos, "{\nret;\n}\n");
  ptx::Parsed reference = ptx::parse(text, "reference");
  ptx::Parsed candidate = ptx::parse(linked(kernels / verdict.candidate.file, count), "candidate");
  for (const ptx::Parsed* parsed : {&reference, &candidate})
    if (!parsed->errors.empty()) {
      said = parsed->errors.front().what;
      return false;
    }
  verifier_node::Options options;
  options.seed = 1;
  options.kept = kept;
  options.block_end = 1;
  options.stress_blocks = 1;
  options.candidate_launch = contract->launch;
  options.candidate_launch->block = verdict.candidate.block;
  Result<verifier_node::Report> report =
      verifier_node::verify(reference.module, candidate.module, *contract, options);
  if (!report) {
    said = report.error().what;
    return false;
  }
  char bound[64];
  std::snprintf(bound, sizeof bound, ", bound %.1e", report->proof.failure_probability);
  said = report->verdict + " " + report->reason_code + ": " + report->reason;
  if (report->verdict == "proved" || verdict.narrower) said += bound;
  if (verdict.racy) return report->verdict == "refuted" && report->reason_code == "race";
  bool equal = verdict.narrower
                   ? report->verdict == "undecided" && report->reason_code == "precision"
                   : report->verdict == "proved";
  // The reference's own order, once where it is several pairs' reference; what was proved was
  // watched as the candidate.
  static std::map<std::string, bool> known;
  if (verdict.reference.file == verdict.candidate.file)
    known.try_emplace(verdict.reference.file, equal);
  if (!equal) return false;
  auto [found, fresh] = known.try_emplace(verdict.reference.file);
  if (fresh) found->second = ordered(reference.module, *contract);
  if (!found->second) said += "; the reference has a race";
  return found->second;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// The first kernel that the folder has not, or that has no entry.
std::optional<Error> missing_kernel(const fs::path& kernels) {
  const std::string remedy =
      "KERNELS is crates/volta_bench/kernels of a snapshot of Volta; scripts/volta fetches one";
  for (const Verdict& verdict : verdicts())
    for (const Kernel* kernel : {&verdict.reference, &verdict.candidate}) {
      fs::path path = kernels / kernel->file;
      Result<std::string> text = read_file(path);
      if (!text)
        return Error{Fault::unavailable, "this kernel cannot be read", remedy, {path, 0, 0}};
      std::size_t entry = text->find(".entry ");
      if (entry == std::string::npos || text->find('(', entry) == std::string::npos)
        return Error{Fault::malformed, "this is no kernel: it has no entry", remedy, {path, 0, 0}};
    }
  return std::nullopt;
}

int run(const fs::path& kernels, const std::string& filter) {
  if (std::optional<Error> error = missing_kernel(kernels)) {
    std::fprintf(stderr, "volta_bench: %s: %s\nhelp: %s\n", error->place.file.c_str(),
                 error->what.c_str(), error->remedy.c_str());
    return error->fault == Fault::malformed ? 65 : 74;
  }
  std::size_t good = 0, total = 0;
  double begin = cpu_seconds();
  auto kept = std::make_shared<verifier_node::Kept>(kept_bytes_max);
  for (const Verdict& verdict : verdicts()) {
    if (verdict.name.find(filter) == std::string::npos) continue;
    std::string said;
    double before = cpu_seconds();
    bool is_right = right(verdict, kernels, kept, said);
    ++total;
    good += is_right ? 1 : 0;
    std::printf("%-5s %-44s %8.2f s  %s\n", is_right ? "right" : "WRONG", verdict.name.c_str(),
                cpu_seconds() - before, said.c_str());
    std::fflush(stdout);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu of %zu verdicts right, %.1f s of one core, %.2f GiB\n", good, total,
              cpu_seconds() - begin, static_cast<double>(usage.ru_maxrss) / (1 << 20));
  return good == total ? 0 : 1;
}

}  // namespace
}  // namespace lathe

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: volta_bench KERNELS [FILTER]\n");
    return 64;
  }
  return lathe::run(arguments[1], count > 2 ? arguments[2] : "");
}
