// The suite as it is shipped: contracts are read, other configurations and planted mistakes belong
// to a contract and differ from its reference in more than comments.

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "contract/contract.h"
#include "ptx/isa.h"
#include "ptx/module.h"
#include "tests/places.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

const fs::path root = source_folder;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<fs::path> folders_with(const fs::path& place, const std::string& file) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / place))
    if (fs::exists(entry.path() / file)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The values of `key = "value"` in a file, in order.
std::vector<std::string> values(const fs::path& file, const std::string& key) {
  std::regex line("(?:^|\n)" + key + R"re( = "([^"]*)")re");
  std::string text = slurp(file);
  std::vector<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i)
    out.push_back((*i)[1]);
  return out;
}

std::string normal(const fs::path& file) {
  ptx::Parsed parsed = ptx::parse(slurp(file), file.filename());
  INFO(file.string());
  REQUIRE(parsed.errors.empty());
  return ptx::normal_form(parsed.module);
}

void check_contract(const fs::path& folder) {
  INFO(folder.string());
  Result<Contract> contract = read_contract(folder);
  if (!contract) FAIL(contract.error().what);
  std::string name = folder.filename();
  CHECK(name.starts_with(contract->name + "_"));
  CHECK(name.ends_with("_" + contract->target));
  ptx::Parsed parsed = ptx::parse(contract->reference, "reference.ptx");
  const ptx::Function* entry = parsed.module.find_entry(contract->entry);
  REQUIRE(entry);
  CHECK(entry->parameters.size() == contract->parameters.size());
  CHECK(parsed.module.target.front() == contract->target);
}

/// The suite: a kernel and its precisions a line.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kernels{{
    {"sigmoid", "fp16 fp8"},        {"relu", "fp16 fp8"},
    {"silu", "fp16 fp8"},           {"swiglu", "fp16 fp8 bf16"},
    {"rmsnorm", "fp16 fp8 bf16"},   {"rope", "fp16 fp8"},
    {"matvec", "fp16 fp8"},         {"softmax", "fp16 fp8"},
    {"conv", "fp16 fp8"},           {"gemm", "fp16 fp8 bf16 int8"},
    {"gemm_silu", "fp16 fp8"},      {"sum", "fp16 fp8"},
    {"attention", "fp16 fp8 bf16"}, {"sinkhorn", "fp16 bf16"},
    {"forgetting", "fp16 bf16"},    {"sage", "int8"},
    {"bitdelta", "fp16 bf16"},      {"bitdelta_batched", "fp16"},
    {"lion", "fp16 bf16"},          {"dion", "fp16 bf16"},
    {"mamba_state", "fp16 bf16"},   {"mamba_scan", "fp16 bf16"},
}};

TEST_CASE("each of 22 kernels has a contract for each of its precisions and of three targets") {
  std::set<std::string> expected, found;
  for (auto [kernel, precisions] : kernels) {
    std::istringstream words{std::string(precisions)};
    for (std::string precision; words >> precision;)
      for (std::string_view target : known_targets)
        expected.insert(std::string(kernel) + "_" + precision + "_" + std::string(target));
  }
  for (const fs::path& folder : folders_with("suite/contracts", "contract.toml")) {
    check_contract(folder);
    found.insert(folder.filename());
  }
  CHECK(found == expected);
  CHECK(found.size() == 141);
}

TEST_CASE("each kernel has a source with an oracle, and no oracle goes through Triton") {
  for (auto [kernel, precisions] : kernels) {
    INFO(std::string(kernel));
    std::string text = slurp(root / "suite/kernels" / (std::string(kernel) + ".py"));
    std::size_t begin = text.find("def oracle(");
    REQUIRE(begin != std::string::npos);
    std::string body = text.substr(begin, text.find("\n\n\n", begin) - begin);
    CHECK(body.find("tl.") == std::string::npos);
    CHECK(body.find("triton") == std::string::npos);
  }
}

TEST_CASE("the small twins of the suite are contracts too") {
  std::vector<fs::path> folders = folders_with("tests/kernels/contracts", "contract.toml");
  CHECK(folders.size() == 15);
  for (const fs::path& folder : folders) check_contract(folder);
}

TEST_CASE("each other configuration has its launch and is another kernel than the reference") {
  std::size_t count = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(root / "tests/kernels/alternatives")) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    INFO(entry.path().string());
    std::string folder = entry.path().parent_path().filename();
    fs::path contract;
    for (const char* home : {"suite/contracts", "tests/kernels/contracts", "bench/figures"})
      if (fs::exists(root / home / folder)) contract = root / home / folder;
    REQUIRE(fs::exists(contract / "reference.ptx"));
    CHECK(fs::exists(fs::path(entry.path()).replace_extension(".toml")));
    CHECK(normal(entry.path()) != normal(contract / "reference.ptx"));
  }
  CHECK(count >= 42);
}

void check_index(const std::string& kind, std::size_t at_least) {
  fs::path index = root / "tests/kernels" / kind / "index.toml";
  std::vector<std::string> files = values(index, "file"), contracts = values(index, "contract");
  REQUIRE(files.size() == contracts.size());
  CHECK(files.size() >= at_least);
  std::set<std::string> forms;
  for (std::size_t i = 0; i < files.size(); ++i) {
    INFO(files[i]);
    std::string form = normal(root / files[i]);
    CHECK(form != normal(root / contracts[i] / "reference.ptx"));
    CHECK(forms.insert(form).second);
  }
  std::size_t shipped = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(index.parent_path()))
    shipped += entry.path().extension() == ".ptx";
  CHECK(shipped == files.size());
}

TEST_CASE("each planted mistake differs from its contract's reference and from all others") {
  check_index("mistakes", 12);
}

TEST_CASE("each honest neighbour differs from its contract's reference") {
  check_index("honest", 5);
}

TEST_CASE("a normal form does not tell two files apart that differ in comments alone") {
  fs::path file = root / "suite/contracts/sum_fp16_sm_89/reference.ptx";
  ptx::Parsed parsed = ptx::parse("// another first line\n" + slurp(file), "reference.ptx");
  CHECK(ptx::normal_form(parsed.module) == normal(file));
}

TEST_CASE("each contract for sm_90a has the configuration that was the fastest on the device") {
  Json measured = Json::parse(slurp(root / "suite/baselines/sm_90a.json"));
  std::size_t count = 0;
  for (const fs::path& folder : folders_with("suite/contracts", "contract.toml")) {
    std::string name = folder.filename();
    if (!name.ends_with("_sm_90a")) continue;
    INFO(name);
    const Json& row = measured["kernels"][name.substr(0, name.size() - 7)];
    const Json& chosen = row["configs"][row["chosen"].get<std::string>()];
    CHECK(chosen["ptx_sha256"] == hex(sha256(slurp(folder / "reference.ptx"))));
    CHECK(chosen["declared"]["failing"] == 0);
    ++count;
  }
  CHECK(count == 47);
}

/// Whether a tolerance is at most four times what Triton itself missed by on a stress class. Errors
/// were recorded in units of the tolerance, and as they are: of a tolerance that was widened since
/// the first would be too great for the second. Where inputs overflow, an error says nothing.
bool is_earned(const Json& classes, const Tolerance& tolerance) {
  bool earned = false;
  for (const auto& [kind, found] : classes.items()) {
    if (found.is_null()) continue;
    double units = found["error_over_tolerance_max"], error = found["error_max"];
    if (error * 1.001 < units * tolerance.absolute) return false;
    earned |= kind != "declared" && kind != "overflow" && units >= 0.25;
  }
  return earned;
}

TEST_CASE("no tolerance is more than four times what Triton missed by on a stress class") {
  // These are exact: a maximum, and sums of integers.
  const std::set<std::string> exact{"gemm_int8", "relu_fp16", "relu_fp8"};
  Json measured = Json::parse(slurp(root / "suite/baselines/sm_90a.json"))["kernels"];
  std::size_t earned = 0;
  for (const fs::path& folder : folders_with("suite/contracts", "contract.toml")) {
    Contract contract = *read_contract(folder);
    INFO(folder.string());
    std::string name = folder.filename();
    name.resize(name.size() - contract.target.size() - 1);
    if (exact.contains(name)) {
      CHECK(contract.tolerance.absolute == 0);
      CHECK(contract.tolerance.relative == 0);
    } else {
      CHECK(is_earned(measured[name]["classes"], contract.tolerance));
      ++earned;
    }
  }
  CHECK(earned == 141 - 3 * exact.size());
}

TEST_CASE("a tolerance that was widened since, or that no error reaches, is not earned") {
  Json measured = Json::parse(slurp(root / "suite/baselines/sm_90a.json"))["kernels"];
  Tolerance tolerance = read_contract(root / "suite/contracts/gemm_fp8_sm_90a")->tolerance;
  Json classes = measured["gemm_fp8"]["classes"];
  CHECK(is_earned(classes, tolerance));
  tolerance.absolute *= 4;
  CHECK_FALSE(is_earned(classes, tolerance));
  tolerance = read_contract(root / "suite/contracts/silu_fp16_sm_90a")->tolerance;
  classes = measured["silu_fp16"]["classes"];
  CHECK(is_earned(classes, tolerance));
  for (auto& [kind, found] : classes.items())
    if (kind != "declared" && kind != "overflow")
      found["error_over_tolerance_max"] = found["error_over_tolerance_max"].get<double>() / 2;
  CHECK_FALSE(is_earned(classes, tolerance));
}

/// Forms of a contract's reference (opcode with its modifiers): how many, and how many of them the
/// table has.
std::pair<std::size_t, std::size_t> forms_of(const Contract& contract) {
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  std::map<std::string, bool> forms;
  unsigned version = *ptx::parse_isa_version(parsed.module.version);
  ptx::Target target = *ptx::parse_target(contract.target);
  for (const ptx::Instruction& one : parsed.module.find_entry(contract.entry)->instructions) {
    std::string form(one.opcode);
    for (std::string_view modifier : one.modifiers) form += "." + std::string(modifier);
    forms[form] = bool(ptx::match(one, version, target));
  }
  std::size_t known = 0;
  for (const auto& [form, in_table] : forms) known += in_table;
  return {forms.size(), known};
}

TEST_CASE("the table of what was executed is true of the PTX as it is") {
  Json covered = Json::parse(slurp(root / "suite/coverage.json"));
  std::string document = slurp(root / "docs/COVERAGE.md");
  std::size_t ran = 0, count = 0;
  for (const char* home : {"suite/contracts", "suite/semantics/contracts"})
    for (const fs::path& folder : folders_with(home, "contract.toml")) {
      std::string name = folder.filename();
      INFO(name);
      Contract contract = *read_contract(folder);
      const Json& row = covered[name];
      CHECK(row["ptx_sha256"] == hex(sha256(contract.reference)));
      auto [forms, known] = forms_of(contract);
      CHECK(forms == known);
      bool compared = row.contains("elements");
      std::string line = "| " + name + " | " + std::to_string(forms) + " | " +
                         std::to_string(known) + " | " +
                         std::to_string(compared ? row["executed"].get<std::size_t>() : 0) + " | ";
      CHECK(document.find(line) != std::string::npos);
      if (compared) CHECK(row["failing"] == 0);
      CHECK(compared != (document.find("* " + name + ": ") != std::string::npos));
      ran += compared;
      ++count;
    }
  CHECK(count == covered.size());
  CHECK(ran == count);
}

TEST_CASE("what the newest Triton makes of every contract was executed too") {
  Json covered = Json::parse(slurp(root / "suite/coverage-3.9.0.json"));
  // The sums of what that version compiles: `scripts/triton` makes it again and compares.
  Json sums = Json::parse(slurp(root / "suite/digests/triton-3.9.0.json"));
  std::string document = slurp(root / "docs/COVERAGE.md");
  std::size_t count = 0, elements = 0;
  for (const char* home : {"suite/contracts", "suite/semantics/contracts"})
    for (const fs::path& folder : folders_with(home, "contract.toml")) {
      std::string name = folder.filename();
      INFO(name);
      const Json& row = covered[name];
      CHECK(row["ptx_sha256"] == sums[std::string(home) + "/" + name + "/reference.ptx"]);
      CHECK(row["in_table"] == row["forms"]);
      CHECK(row["blocks"].size() >=
            std::min<std::uint64_t>(8, read_contract(folder)->launch.blocks()));
      CHECK(row["failing"] == 0);
      elements += row["elements"].get<std::size_t>();
      ++count;
    }
  CHECK(count == covered.size());
  std::string part = document.substr(document.find("## Triton 3.9.0"));
  CHECK(part.find(std::to_string(elements) + " elements compared, 0 of them") != std::string::npos);
}

TEST_CASE("the five fakes of every contract were rejected by the test gate") {
  Json known = Json::object();
  std::istringstream lines(slurp(root / "suite/fakes.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    Json row = Json::parse(line);
    known[row["contract"].get<std::string>()] = row;
  }
  std::size_t count = 0;
  for (const char* home : {"suite/contracts", "suite/semantics/contracts"})
    for (const fs::path& folder : folders_with(home, "contract.toml")) {
      INFO(folder.string());
      Json row = known.value(folder.filename().string(), Json::object());
      CHECK(row.value("ptx_sha256", "") == hex(sha256(slurp(folder / "reference.ptx"))));
      CHECK(row.value("status", "") == "all rejected");
      CHECK(row.value("fakes", Json::object()).size() == 5);
      ++count;
    }
  CHECK(count == 165);
  CHECK(known.size() == count);
}

TEST_CASE("a measured pair names two files, one launch each and the contract of both") {
  std::vector<fs::path> folders = folders_with("suite/pairs", "pair.toml");
  CHECK(folders.size() >= 12);
  for (const fs::path& folder : folders) {
    INFO(folder.string());
    std::vector<std::string> contract = values(folder / "pair.toml", "contract");
    std::vector<std::string> files = values(folder / "pair.toml", "file");
    REQUIRE(contract.size() == 1);
    REQUIRE(files.size() == 2);
    CHECK(fs::exists(root / contract[0] / "contract.toml"));
    for (const std::string& file : files) CHECK_FALSE(normal(root / file).empty());
  }
}

}  // namespace
}  // namespace lathe
