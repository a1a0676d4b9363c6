// The five fakes are kernels that an assembler accepts, for every shipped contract, and none of
// them is the reference.

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/files.h"
#include "base/process.h"
#include "gpu_node/gpu_node.h"
#include "tests/places.h"

namespace lathe::gpu_node {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> contracts() {
  std::vector<fs::path> folders;
  for (const char* root : {"suite/contracts", "tests/kernels/contracts"})
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(source_folder) / root))
      if (fs::exists(entry.path() / "contract.toml")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

TEST_CASE("every shipped contract has its five fakes, all different from the reference") {
  REQUIRE_FALSE(contracts().empty());
  for (const fs::path& folder : contracts()) {
    INFO(folder);
    Result<Contract> contract = read_contract(folder);
    REQUIRE(contract);
    Result<std::vector<Fake>> fakes = make_fakes(*contract);
    REQUIRE(fakes);
    std::set<std::string> texts{contract->reference};
    for (const Fake& fake : *fakes) texts.insert(fake.ptx);
    CHECK(texts.size() == 6);
  }
}

TEST_CASE("the fakes of the sum assemble") {
  if (find_assemblers().empty()) {
    std::cout << "LATHE-SKIP: no ptxas on this machine\n";
    return;
  }
  for (const char* name : {"sum_fp16_sm_90a", "gemm_fp16_sm_89"}) {
    auto contract = std::make_shared<Contract>(
        *read_contract(fs::path(source_folder) / "suite" / "contracts" / name));
    Result<std::vector<Fake>> fakes = make_fakes(*contract);
    REQUIRE(fakes);
    for (const Fake& fake : *fakes) {
      INFO(name << " " << fake.name);
      Screened screened;
      screened.contract = contract;
      screened.ptx = fake.ptx;
      ptx::Parsed parsed = ptx::parse(fake.ptx, "candidate.ptx");
      REQUIRE(parsed.errors.empty());
      screened.module = std::make_shared<ptx::Module>(std::move(parsed.module));
      Step<Assembled> step = assemble(screened, *choose_assembler(contract->ptx_isa), {});
      INFO((step.rejected() ? step.rejected()->evidence.json : ""));
      CHECK(step.passed());
    }
  }
}

TEST_CASE("a reference without a plain store has no fakes, and says where") {
  Contract contract = *read_contract(fs::path(source_folder) / "suite/contracts/sum_fp16_sm_90a");
  std::size_t at = contract.reference.find("st.global.b16 [ %rd5 + 0 ], { %rs1 };");
  REQUIRE(at != std::string::npos);
  contract.reference.replace(at, 37, "red.global.add.u32 [%rd5], 1;");
  Result<std::vector<Fake>> fakes = make_fakes(contract);
  REQUIRE_FALSE(fakes);
  CHECK(fakes.error().fault == Fault::unsupported);
  CHECK(fakes.error().place.line > 0);
}

}  // namespace lathe::gpu_node
