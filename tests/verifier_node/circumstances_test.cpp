// Every run of a proof has the same addresses. What another address would decide is never proved.

#include <catch2/catch.hpp>

#include "tests/places.h"
#include "tests/verifier_node/kernels.h"
#include "verifier_node/circumstances.h"

namespace lathe::verifier_node {
namespace {

const std::string name = "sum_8x512_fp16_sm_89";
const std::string total_to_half = "\tcvt.rn.f16.f32 \t%rs1, %r48;";

/// The row sum, which becomes 1 where `lines` set %q.
Report decided_by(const std::string& lines) {
  Contract contract = small_contract(name);
  return verified(contract,
                  edited(contract.reference, total_to_half,
                         "\t{\n\t.reg .pred \t%q;\n\t.reg .b64 \t%w<4>;\n\t.reg .b32 \t%v<4>;\n" +
                             lines + "\tselp.b32 \t%r48, 0f3F800000, %r48, %q;\n\t}\n" +
                             total_to_half));
}

void check_undecided(const Report& report, const std::string& part) {
  INFO(report.reason);
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "circumstance");
  CHECK(report.reason.find(part) != std::string::npos);
}

TEST_CASE("a high bit of a tensor's address decides, and that is not proved") {
  check_undecided(decided_by("\tshr.u64 \t%w1, %rd3, 46;\n\tsetp.ne.s64 \t%q, %w1, 0;\n"),
                  "address");
}

TEST_CASE("a bit of the alignment that the contract does not promise is not proved") {
  check_undecided(decided_by("\tand.b64 \t%w1, %rd3, 256;\n\tsetp.ne.s64 \t%q, %w1, 256;\n"
                             "\tnot.pred \t%q, %q;\n"),
                  "address");
}

TEST_CASE("which of two tensors lies lower decides, and that is not proved") {
  check_undecided(decided_by("\tsetp.gt.u64 \t%q, %rd3, %rd4;\n"), "address");
}

TEST_CASE("how far two tensors are apart decides, and that is not proved") {
  check_undecided(decided_by("\tsub.s64 \t%w1, %rd4, %rd3;\n\tsetp.eq.s64 \t%q, %w1, 12345;\n"),
                  "address");
}

TEST_CASE("an address that went through half registers is still an address") {
  check_undecided(decided_by("\tmov.b64 \t{%v1, %v2}, %rd3;\n\tadd.cc.u32 \t%v1, %v1, 16;\n"
                             "\taddc.u32 \t%v2, %v2, 0;\n\tsetp.gt.u32 \t%q, %v2, 30000;\n"),
                  "address");
}

TEST_CASE("an address that went through local memory is still an address") {
  Contract contract = small_contract(name);
  std::string text =
      edited(contract.reference, "\t.reg .pred \t%p<8>;",
             "\t.local .align 8 .b8 \tdepot[8];\n\t.reg .pred \t%p<8>;\n");
  text = edited(text, total_to_half,
                "\t{\n\t.reg .pred \t%q;\n\t.reg .b64 \t%w;\n\tst.local.u64 \t[depot], %rd3;\n"
                "\tld.local.u64 \t%w, [depot];\n\tsetp.gt.u64 \t%q, %w, 0x700000000000;\n"
                "\tselp.b32 \t%r48, 0f3F800000, %r48, %q;\n\t}\n" +
                    total_to_half);
  check_undecided(verified(contract, text), "address");
}

TEST_CASE("registers that the manual leaves open are not proved by the value of the emulator") {
  check_undecided(decided_by("\tmov.u32 \t%v1, %warpid;\n\tshr.u32 \t%v2, %r12, 5;\n"
                             "\tsetp.ne.u32 \t%q, %v1, %v2;\n"),
                  "%warpid");
  check_undecided(decided_by("\tmov.u32 \t%v1, %total_smem_size;\n\tsetp.ne.u32 \t%q, %v1, 8;\n"),
                  "%total_smem_size");
  check_undecided(decided_by("\tactivemask.b32 \t%v1;\n\tsetp.ne.u32 \t%q, %v1, -1;\n"),
                  "activemask");
}

TEST_CASE("addresses that are only moved, added to and accessed are proved") {
  Contract contract = small_contract(name);
  std::string text = edited(
      contract.reference, "\tmad.wide.s32 \t%rd5, %r17, 2, %rd3;",
      "\t{\n\t.reg .b64 \t%w<4>;\n\t.reg .b32 \t%v<4>;\n\t.reg .pred \t%q;\n"
      "\tcvta.global.u64 \t%w1, %rd3;\n\tcvta.to.global.u64 \t%w1, %w1;\n"
      "\tmov.b64 \t{%v1, %v2}, %w1;\n\tadd.cc.u32 \t%v1, %v1, 64;\n\taddc.u32 \t%v2, %v2, 0;\n"
      "\tmov.b64 \t%w2, {%v1, %v2};\n\tsub.s64 \t%w2, %w2, 64;\n"
      "\tsetp.lt.s32 \t%q, %r17, 0;\n\tselp.b64 \t%w3, %rd4, %w2, %q;\n"
      "\tmad.wide.s32 \t%rd5, %r17, 2, %w3;\n\t}\n");
  Report report = verified(contract, text);
  INFO(report.reason);
  CHECK(report.verdict == "proved");
}

TEST_CASE("no kernel of the suite lets a circumstance decide") {
  std::size_t kernels = 0;
  const std::filesystem::path contracts = std::filesystem::path(source_folder) / "suite/contracts";
  for (const auto& entry : std::filesystem::directory_iterator(contracts)) {
    if (!std::filesystem::exists(entry.path() / "contract.toml")) continue;
    INFO(entry.path().filename().string());
    Contract contract = contract_at(entry.path());
    ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
    REQUIRE(parsed.errors.empty());
    Result<ptx::Program> program = ptx::decode(parsed.module, contract.entry);
    REQUIRE(program);
    ptx::Program nothing;
    std::optional<Circumstance> found = deciding_circumstance(nothing, *program, contract);
    if (found) FAIL_CHECK(found->what << " (line " << found->line << ")");
    ++kernels;
  }
  CHECK(kernels > 100);
}

}  // namespace
}  // namespace lathe::verifier_node
