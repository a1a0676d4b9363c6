// The forms of a deployment, and what Triton's override mechanism may not have.

#include "cli/deployment.h"

#include <catch2/catch.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "pipeline/admission.h"
#include "ptx/module.h"
#include "store/deeds.h"
#include "tests/places.h"

namespace lathe::cli {
namespace {

const std::string recorded = std::string(source_folder) + "/tests/python/h200/";

/// The reference as its own winner, with one text of contract.toml and of the PTX replaced.
Deployment deployment(const std::string& name, const std::string& before = "",
                      const std::string& after = "", const std::string& ptx_before = "",
                      const std::string& ptx_after = "") {
  Opened opened = open_contract(recorded + name);
  REQUIRE(opened.contract != nullptr);
  std::string toml = print_contract(*opened.contract);
  if (!before.empty()) {
    REQUIRE(toml.find(before) != std::string::npos);
    toml.replace(toml.find(before), before.size(), after);
  }
  auto contract = parse_contract(toml, "contract.toml");
  REQUIRE(contract.has_value());
  contract->reference = opened.contract->reference;
  Deployment made;
  std::string ptx = contract->reference;
  if (!ptx_before.empty()) {
    REQUIRE(ptx.find(ptx_before) != std::string::npos);
    ptx.replace(ptx.find(ptx_before), ptx_before.size(), ptx_after);
  }
  ptx::Parsed parsed = ptx::parse(ptx, "winner.ptx");
  REQUIRE(parsed.errors.empty());
  made.assembled.candidate = sha256(ptx);
  made.assembled.ptx = ptx;
  made.assembled.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  made.assembled.contract = std::make_shared<const Contract>(*std::move(contract));
  made.assembled.cubin = "cubin";
  made.assembled.assembler = "ptxas 13.0.88";
  made.proved = true;
  return made;
}

Chosen chosen(std::vector<Deployment> deployments) {
  Chosen out;
  for (const Deployment& one : deployments) out.contracts.push_back(one.assembled.contract);
  out.deployments = std::move(deployments);
  return out;
}

bool refused_for(const Chosen& what, const std::string& part) {
  for (const std::string& one : override_refusals(what))
    if (one.find(part) != std::string::npos) return true;
  return false;
}

TEST_CASE("a kernel without runtime scalars may be overridden in Triton") {
  CHECK(override_refusals(chosen({deployment("constant/silu_kernel_1")})).empty());
}

TEST_CASE("a runtime scalar that no case covers is refused, one that a case covers is not") {
  CHECK(refused_for(chosen({deployment("captured/softmax_kernel_1")}), "scalar row_stride"));
  std::string covered = "[constants]\n";
  Deployment with_case =
      deployment("captured/softmax_kernel_1", "[constants]",
                 "[[case]]\nname = \"wide\"\nscalar.row_stride = 1024\ntensor.x.shape = [64, 512]\n"
                 "tensor.x.strides = [1024, 1]\n\n" +
                     covered);
  CHECK_FALSE(refused_for(chosen({with_case}), "scalar row_stride"));
}

TEST_CASE("a contract that does not say where Triton looks is refused") {
  Deployment made = deployment("constant/silu_kernel_1", "triton_override", "something_else");
  CHECK(refused_for(chosen({made}), "does not say where"));
}

TEST_CASE("a path that leads out of the override folder is refused") {
  Deployment made = deployment("constant/silu_kernel_1", "/silu_kernel.ptx", "/../silu.ptx");
  CHECK(refused_for(chosen({made}), "does not say where"));
}

TEST_CASE("contents that the contract fixes are refused, since Triton does not look at them") {
  CHECK(
      refused_for(chosen({deployment("captured/gather_kernel_1", "values = {file = \"index.bin\"}",
                                     "values = {indices_below = 100}")}),
                  "what index holds"));
}

TEST_CASE("a winner with another block, target or newer version is refused") {
  std::string silu = "constant/silu_kernel_1";
  CHECK(refused_for(chosen({deployment(silu, "", "", ".reqntid 128", ".reqntid 64")}), "reqntid"));
  CHECK(refused_for(chosen({deployment(silu, "", "", ".target sm_90a", ".target sm_100a")}),
                    "target"));
  CHECK(refused_for(chosen({deployment(silu, "", "", ".version 8.7", ".version 9.0")}),
                    ".version 9.0"));
}

TEST_CASE("two contracts of one source must have one winner") {
  Deployment first = deployment("constant/silu_kernel_1");
  Deployment other = deployment("constant/silu_kernel_1", "grid = [16, 1, 1]", "grid = [15, 1, 1]");
  CHECK(override_refusals(chosen({first, other})).empty());
  Deployment changed = deployment("constant/silu_kernel_1", "grid = [16, 1, 1]",
                                  "grid = [15, 1, 1]", "ret;", "ret; ");
  CHECK(refused_for(chosen({first, changed}), "of the same source"));
  Chosen without = chosen({first, other});
  without.deployments.pop_back();
  CHECK(refused_for(without, "of the same source"));
}

TEST_CASE("an override comes with a cache of its own and a program that uses both") {
  Scratch scratch;
  auto folder = scratch.path() / "d";
  REQUIRE(write_override(chosen({deployment("constant/silu_kernel_1")}), folder).has_value());
  auto script = read_file(folder / "run");
  REQUIRE(script.has_value());
  auto ran = run_process({(folder / "run").string(), "/usr/bin/env"}, "", {});
  REQUIRE(ran.has_value());
  CHECK(ran->out.find("TRITON_OVERRIDE_DIR=" + (folder / "override").string()) !=
        std::string::npos);
  CHECK(ran->out.find("TRITON_CACHE_DIR=" + (folder / "cache").string()) != std::string::npos);
  CHECK(std::filesystem::is_directory(folder / "cache"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "override"))
    files += entry.path().filename() == "silu_kernel.ptx";
  CHECK(files == 1);
}

TEST_CASE("a refused override writes nothing") {
  Scratch scratch;
  CHECK_FALSE(
      write_override(chosen({deployment("captured/softmax_kernel_1")}), scratch.path() / "d"));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "d"));
}

TEST_CASE("a store that holds only what a person tried says what it has and how that is deployed") {
  auto store = store::Store::in_memory();
  auto refusal = [&] {
    auto chosen = deployments_of_run(*store, {}, "", false);
    REQUIRE_FALSE(chosen.has_value());
    return chosen.error();
  };
  Opened opened = open_contract(recorded + "captured/add_kernel_1");
  store::Batch batch;
  Digest contract = store::keep_contract(batch, *opened.contract);
  REQUIRE(store->commit(std::move(batch)).has_value());
  CHECK(refusal().what == "the store has no run");
  CHECK(refusal().remedy == "lathe lower starts one");
  store::Batch more;
  Digest candidate = sha256("mine");
  REQUIRE(store::admit(*store, more, {contract, 0, 300, candidate}, {}).has_value());
  REQUIRE(store->commit(std::move(more)).has_value());
  CHECK(refusal().what == "the store has no run; admitted by lathe try: " + short_hex(candidate) +
                              " of add_kernel for sm_90a");
  CHECK(refusal().remedy.find("--file FILE.ptx --contract DIR; lathe lower starts a run") !=
        std::string::npos);
}

TEST_CASE("a winner's document says what its guards need") {
  Scratch scratch;
  Deployment made = deployment("captured/scale_kernel_1");
  REQUIRE(write_winners(chosen({made}), scratch.path() / "w").has_value());
  auto text = read_file(scratch.path() / "w" / made.folder() / "winner.json");
  REQUIRE(text.has_value());
  Json json = Json::parse(*text);
  CHECK(json["schema"] == "lathe/winner/1");
  CHECK(json["proved"] == true);
  CHECK(json["cubin_sha256"] == hex(sha256("cubin")));
  const Json& shape = json["shapes"][0];
  CHECK(shape["launch"]["grid"] == Json::array({8, 1, 1}));
  CHECK(shape["parameters"][1]["bits"] == "1059061760");
  CHECK(shape["tensors"][0]["role"] == "inout");
}

TEST_CASE("the header names each tensor, and scalars are the contract's") {
  Deployment made = deployment("captured/add_kernel_1");
  std::string header = header_text(made), loader = loader_text(made);
  CHECK(header.find("CUdeviceptr tensor_x, CUdeviceptr tensor_y, CUdeviceptr tensor_out") !=
        std::string::npos);
  CHECK(header.find("proved") != std::string::npos);
  CHECK(loader.find("uint32_t scalar_3 = 5000u;") != std::string::npos);
  CHECK(loader.find("tensor_x % 16u != 0") != std::string::npos);
}

TEST_CASE("the loader compiles as C and as C++") {
  std::string include;
  for (std::string folder : {std::string("/usr/local/cuda/include"),
                             std::string(source_folder) + "/.tools/cuda/nvidia/cu13/include"})
    if (std::filesystem::exists(folder + "/cuda.h")) include = folder;
  if (include.empty()) {
    WARN("LATHE-SKIP: no cuda.h");
    return;
  }
  Scratch scratch;
  Deployment made = deployment("captured/add_kernel_1");
  REQUIRE(write_cubin(chosen({made}), scratch.path() / "c").has_value());
  std::string file = (scratch.path() / "c" / made.folder() / "add_kernel.c").string();
  for (std::vector<std::string> words :
       {std::vector<std::string>{"g++", "-x", "c", "-std=c99"}, {"g++", "-x", "c++"}}) {
    std::vector<std::string> command{"/usr/bin/env"};
    command.insert(command.end(), words.begin(), words.end());
    for (std::string word : {"-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"})
      command.push_back(word);
    command.push_back(include);
    command.push_back(file);
    auto end = run_process(command, "", {});
    REQUIRE(end.has_value());
    INFO(end->err);
    CHECK(end->status == 0);
  }
}

}  // namespace
}  // namespace lathe::cli
