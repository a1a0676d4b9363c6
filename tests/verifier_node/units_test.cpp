// Kernels whose operands come by asynchronous units: proved against plain ones, and what they get
// wrong is refuted.

#include "kernels.h"

namespace lathe::verifier_node {
namespace {

const std::string contract_text = R"(format = 1
name = "double"
entry = "double"
target = "sm_90a"
ptx_isa = "9.0"

[launch]
grid = [1, 1, 1]
block = [256, 1, 1]

[[parameter]]
name = "y"
tensor = "y"

[[parameter]]
name = "x"
tensor = "x"

[[parameter]]
name = "x_map"
tensormap = {tensor = "x", box = [8, 32], swizzle = "128B"}

[[tensor]]
name = "x"
dtype = "f32"
shape = [8, 32]
strides = [32, 1]
role = "input"
align = 128
values = "normal"

[[tensor]]
name = "y"
dtype = "f32"
shape = [8, 32]
strides = [32, 1]
role = "output"
align = 128

[tolerance]
absolute = 1e-5
relative = 1e-5
)";

const std::string head =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".visible .entry double(.param .u64 y, .param .u64 x, .param .align 64 .b8 x_map[128])\n"
    ".reqntid 256\n{\n.reg .b64 %y, %x, %map, %offset; .reg .b32 %tid, %s, %at, %row, %c;\n"
    ".reg .f32 %v; .reg .pred %p, %q;\n"
    "ld.param.u64 %y, [y];\nld.param.u64 %x, [x];\nmov.u32 %tid, %tid.x;\n"
    "mul.wide.u32 %offset, %tid, 4;\nadd.s64 %y, %y, %offset;\nadd.s64 %x, %x, %offset;\n";
const std::string tail = "add.f32 %v, %v, %v;\nst.global.f32 [%y], %v;\nret;\n}\n";

/// Units of 16 bytes are exchanged by the row: the thread's word is at its swizzled place.
const std::string by_map =
    ".shared .align 1024 .b8 data[1024];\n.shared .align 8 .b64 bar;\n"
    "mov.b64 %map, x_map;\ncvta.param.u64 %map, %map;\n"
    "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
    "mov.u32 %c, 0;\n@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
    "@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    " [data], [%map, {%c, %c}], [bar];\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra W;\n"
    "shl.b32 %at, %tid, 2;\nshr.u32 %row, %at, 3;\nand.b32 %row, %row, 112;\n"
    "xor.b32 %at, %at, %row;\nmov.u32 %s, data;\nadd.u32 %s, %s, %at;\nld.shared.f32 %v, [%s];\n";

Contract contract() {
  Result<Contract> parsed = parse_contract(contract_text, "contract.toml");
  if (!parsed) FAIL(parsed.error().what << " line " << parsed.error().place.line);
  Contract made = *std::move(parsed);
  made.reference = head + "ld.global.f32 %v, [%x];\n" + tail;
  return made;
}

}  // namespace

TEST_CASE("a kernel that reads by a tensor map is proved against plain loads") {
  Report report = verified(contract(), head + by_map + tail);
  INFO(report.json);
  CHECK(report.verdict == "proved");
}

TEST_CASE("a box from elsewhere, or a swizzle that is forgotten, is refuted") {
  std::string text = head + by_map + tail;
  for (const std::string& wrong : {edited(text, "mov.u32 %c, 0;\n", "mov.u32 %c, 4;\n"),
                                   edited(text, "xor.b32 %at, %at, %row;\n", "")}) {
    Report report = verified(contract(), wrong);
    INFO(report.json);
    CHECK(report.verdict == "refuted");
  }
}

TEST_CASE("a tensor copy that is not waited for, or of a wrong size, is refuted") {
  std::string text = head + by_map + tail;
  Report report = verified(
      contract(),
      edited(text, "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra W;\n", ""));
  INFO(report.json);
  CHECK(report.verdict == "refuted");
  report = verified(contract(), edited(text, "[bar], 1024", "[bar], 512"));
  INFO(report.json);
  CHECK(report.verdict == "refuted");
}

}  // namespace lathe::verifier_node
