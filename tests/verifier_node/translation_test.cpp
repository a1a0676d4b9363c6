// Blocks that others stand for: that there are some, when there are none, and that which ones are
// run changes no verdict.

#include "kernels.h"

namespace lathe::verifier_node {
namespace {

constexpr unsigned blocks = 64, threads = 32;

/// One f32 a thread, y of x; the body computes %y of %x, and %c is the block.
std::string kernel(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry translated(.param .u64 px, .param .u64 py)\n{\n"
         ".reg .b32 %c, %t, %i, %x, %y, %r<9>;\n.reg .b64 %px, %py, %d<9>;\n.reg .pred %p<9>;\n"
         "mov.u32 %c, %ctaid.x;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %i, %c, 32, %t;\n"
         "ld.param.u64 %px, [px];\nld.param.u64 %py, [py];\n"
         "mad.wide.u32 %px, %i, 4, %px;\nmad.wide.u32 %py, %i, 4, %py;\n"
         "ld.global.b32 %x, [%px];\n" +
         body + "st.global.b32 [%py], %y;\nret;\n}\n";
}

Contract contract_for(const std::string& body) {
  std::string toml =
      "format = 1\nname = \"translated\"\nentry = \"translated\"\ntarget = \"sm_90a\"\n"
      "ptx_isa = \"9.0\"\n[launch]\ngrid = [64, 1, 1]\nblock = [32, 1, 1]\ncluster = [1, 1, 1]\n"
      "[[parameter]]\nname = \"x\"\ntensor = \"x\"\n[[parameter]]\nname = \"y\"\ntensor = \"y\"\n"
      "[[tensor]]\nname = \"x\"\ndtype = \"f32\"\nshape = [2048]\nrole = \"input\"\nalign = 16\n"
      "[[tensor]]\nname = \"y\"\ndtype = \"f32\"\nshape = [2048]\nrole = \"output\"\nalign = 16\n"
      "[tolerance]\nabsolute = 1e-5\nrelative = 1e-5\n";
  Result<Contract> contract = parse_contract(toml, "translated.toml");
  if (!contract) FAIL(contract.error().what);
  contract->reference = kernel(body);
  return *contract;
}

/// Of `"outputs_translated":N`; 0 where it is not there.
std::uint64_t translated(const Report& report) {
  static const std::string key = "\"outputs_translated\":";
  std::size_t at = report.json.find(key);
  return at == std::string::npos ? 0 : std::stoull(report.json.substr(at + key.size()));
}

const std::string doubled = "add.f32 %y, %x, %x;\n";
/// The same two ways of x itself.
const std::string multiplied = "mul.f32 %x, %x, 0f40000000;\n", added = "add.f32 %x, %x, %x;\n";

TEST_CASE("of blocks that do the same on other elements few are run, and all count") {
  Report report = verified(contract_for(doubled), kernel("mul.f32 %y, %x, 0f40000000;\n"));
  INFO(report.json);
  CHECK(report.verdict == "proved");
  CHECK(report.proof.blocks == blocks);
  CHECK(report.proof.outputs_compared == blocks * threads);
  CHECK(translated(report) >= blocks * threads / 2);
  CHECK(report.reason.find("translations") != std::string::npos);
}

TEST_CASE("which blocks stand for the others does not change the verdict") {
  Contract contract = contract_for(doubled);
  std::string wrong = kernel(
      "setp.eq.u32 %p1, %c, 37;\nselp.b32 %r1, 0f40000001, 0f40000000, %p1;\n"
      "mul.f32 %y, %x, %r1;\n");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Options options;
    options.seed = seed;
    CHECK(verified(contract, kernel("mul.f32 %y, %x, 0f40000000;\n"), options).verdict == "proved");
    Report report = verified(contract, wrong, options);
    INFO(report.json);
    CHECK(report.verdict != "proved");
  }
}

TEST_CASE("where a branch asks for data, all blocks are run") {
  std::string clamp =
      "setp.lt.f32 %p1, %x, 0f00000000;\nmov.b32 %y, %x;\n@%p1 bra over;\nbra out;\n"
      "over:\nmov.b32 %y, 0f00000000;\nout:\n";
  Report report = verified(contract_for(added + clamp), kernel(multiplied + clamp));
  INFO(report.json);
  CHECK(translated(report) == 0);
  CHECK(report.verdict == "proved");
}

TEST_CASE("rows that data skip, by a guard or by a branch over them, are translated") {
  std::string asked = "setp.lt.f32 %p1, %x, 0f00000000;\nmov.b32 %y, %x;\n";
  for (const std::string& skipped : {std::string("@%p1 bra over;\nadd.f32 %y, %x, %x;\nover:\n"),
                                     std::string("@!%p1 add.f32 %y, %x, %x;\n"),
                                     std::string("@%p1 mov.b32 %y, 0f00000000;\n")}) {
    Report report =
        verified(contract_for(added + asked + skipped), kernel(multiplied + asked + skipped));
    INFO(skipped + report.json);
    CHECK(report.verdict == "proved");
    CHECK(translated(report) != 0);
  }
}

TEST_CASE("where data decide whether memory is touched, all blocks are run") {
  std::string asked = "setp.lt.f32 %p1, %x, 0f00000000;\nmov.b32 %y, %x;\n";
  std::string stored = "@%p1 bra over;\nst.global.b32 [%py], %x;\nover:\n";
  Report report =
      verified(contract_for(added + asked + stored), kernel(multiplied + asked + stored));
  INFO(report.json);
  CHECK(translated(report) == 0);
  CHECK(report.verdict == "proved");
}

TEST_CASE("a choice by data is part of the function, and is translated") {
  std::string chosen = "setp.lt.f32 %p1, %x, 0f00000000;\nselp.f32 %y, 0f00000000, %x, %p1;\n";
  Report report = verified(contract_for(added + chosen), kernel(multiplied + chosen));
  INFO(report.json);
  CHECK(report.verdict == "proved");
}

TEST_CASE("where blocks meet in atomics, all are run") {
  std::string summed = "mov.b32 %y, %x;\n";
  Report report =
      verified(contract_for(doubled), kernel(summed + "red.global.add.f32 [%py], %x;\n"));
  INFO(report.json);
  CHECK(translated(report) == 0);
  CHECK(report.verdict != "proved");
}

TEST_CASE("blocks of as many kinds as there are blocks are all run") {
  std::string body =
      "cvt.rn.f32.u32 %r1, %c;\nmul.f32 %r1, %r1, 0f3C800000;\nadd.f32 %y, %x, %r1;\n";
  Report report = verified(contract_for(added + body), kernel(multiplied + body));
  INFO(report.json);
  CHECK(translated(report) == 0);
  CHECK(report.verdict == "proved");
}

}  // namespace
}  // namespace lathe::verifier_node
