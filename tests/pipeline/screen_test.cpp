// What the screen lets through, and each thing that it must not, beside its honest neighbour.

#include "base/json.h"
#include "tests/pipeline/kernel.h"
#include "tests/places.h"

namespace lathe {
namespace {

Step<Screened> screened(const std::string& ptx, const std::string& reference = kernel_ptx) {
  return screen({kernel_contract(kernel_toml, reference), ptx});
}

void passes(const std::string& ptx, const std::string& reference = kernel_ptx) {
  auto step = screened(ptx, reference);
  if (step.rejected() != nullptr) UNSCOPED_INFO(step.rejected()->evidence.reason);
  if (step.undecided() != nullptr) UNSCOPED_INFO(step.undecided()->evidence.reason);
  CHECK(step.passed() != nullptr);
}

void rejects(const std::string& ptx, const std::string& code, const std::string& says,
             const std::string& at, const std::string& reference = kernel_ptx) {
  auto step = screened(ptx, reference);
  REQUIRE(step.rejected() != nullptr);
  const Evidence& evidence = step.rejected()->evidence;
  INFO(evidence.reason);
  CHECK(evidence.code == code);
  CHECK(evidence.reason.find(says) != std::string::npos);
  CHECK(evidence.place.line == line_in(ptx, at));
  CHECK(evidence.place.column > 0);
  CHECK(Json::parse(evidence.json)["complaints"][0]["line"] == evidence.place.line);
}

/// An instruction more, before the addition.
std::string with(const std::string& instruction) {
  return kernel_with("  add.f32 %f2", "  " + instruction + "\n  add.f32 %f2");
}

TEST_CASE("the reference itself and an honest change pass") {
  passes(kernel_ptx);
  passes(kernel_with("add.f32 %f2, %f1, %f1", "fma.rn.f32 %f2, %f1, 0f3F800000, %f1"));
}

TEST_CASE("the shipped references pass the screen of their contracts") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(source_folder) + "/suite/contracts")) {
    if (!entry.is_directory()) continue;
    Opened door = open_contract(entry.path());
    REQUIRE(door.contract != nullptr);
    auto step = screen({door.contract, door.contract->reference});
    INFO(entry.path());
    if (step.rejected() != nullptr) UNSCOPED_INFO(step.rejected()->evidence.json);
    if (step.undecided() != nullptr) UNSCOPED_INFO(step.undecided()->evidence.json);
    CHECK(step.passed() != nullptr);
  }
}

/// The kernel with a matrix product, under a contract that speaks of Tensor Cores, or not.
Step<Screened> screened_product(const std::string& precision) {
  std::string product = with(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f2, %f3, %f2, %f3}, "
      "{%r5, %r6, %r5, %r6}, {%r5, %r6}, {%f2, %f3, %f2, %f3};");
  return screen({kernel_contract(kernel_toml + precision, kernel_ptx), product});
}

TEST_CASE("a Tensor Core may be used where the contract does not forbid it") {
  CHECK(screened_product("").passed() != nullptr);
  CHECK(screened_product("[precision]\ntensor_cores = true\n").passed() != nullptr);
}

TEST_CASE("a contract that asks for IEEE arithmetic admits no Tensor Core") {
  auto step = screened_product("[precision]\ntensor_cores = false\n");
  REQUIRE(step.rejected() != nullptr);
  CHECK(step.rejected()->evidence.code == "precision");
  CHECK(step.rejected()->evidence.reason.find("tensor_cores = false") != std::string::npos);
  CHECK(step.rejected()->evidence.place.line > 0);
}

TEST_CASE("two spellings of one candidate have one digest, two candidates two") {
  Digest first = screened(kernel_ptx).passed()->candidate;
  CHECK(screened(kernel_with("  ret;", "\t ret; // done")).passed()->candidate == first);
  CHECK(screened(kernel_with("add.f32", "mul.f32")).passed()->candidate != first);
}

TEST_CASE("what does not parse is rejected with line, column and source line") {
  std::string ptx = kernel_with("add.f32 %f2, %f1, %f1;", "add.f32 %f2, %f1 %f1;");
  rejects(ptx, "parse", "", "add.f32 %f2, %f1 %f1");
  auto step = screened(ptx);
  Json json = Json::parse(step.rejected()->evidence.json);
  CHECK(json["complaints"][0]["source"] == "  add.f32 %f2, %f1 %f1;");
}

TEST_CASE("empty and binary candidates are rejected") {
  CHECK(screened("").rejected() != nullptr);
  CHECK(screened(std::string(300, '\xff')).rejected() != nullptr);
}

TEST_CASE("the interface must stay: entry, target, version, parameters, block") {
  rejects(kernel_with(".entry twice(", ".entry thrice("), "abi", "no entry `twice`", ".visible");
  rejects(kernel_with(".entry twice(", ".entry twic("), "abi", "it has `twic`", ".visible");
  rejects(kernel_with(".target sm_90a", ".target sm_90"), "abi", ".target", ".target");
  rejects(kernel_with(".version 8.7", ".version 9.0"), "abi", "newer", ".version");
  passes(kernel_with(".version 8.7", ".version 8.0"));
  rejects(kernel_with(".param .u32", ".param .u64"), "abi", "parameter 2", "twice_param_2");
  rejects(kernel_with(".reqntid 128, 1, 1", ".reqntid 256"), "abi", ".reqntid", ".reqntid");
  rejects(kernel_with(".reqntid 128, 1, 1\n", ""), "launch", "drops", ".visible");
  passes(kernel_with(".reqntid 128, 1, 1", ".reqntid 128\n.minnctapersm 2\n.maxnreg 64"));
}

TEST_CASE("a freedom that is granted but cannot be used is undecided") {
  std::string block = "block = [128, 1, 1]\n";
  std::string toml = edited(kernel_toml, block, block + "allow = [\"block\"]\n");
  auto step = screen({kernel_contract(toml), kernel_with(".reqntid 128, 1, 1", ".reqntid 256")});
  REQUIRE(step.undecided() != nullptr);
  CHECK(step.undecided()->reason == Reason::unsupported);
}

TEST_CASE("memory that outlives the launch is rejected, a table read by name is not") {
  std::string counter = ".address_size 64\n.global .align 4 .b32 counter;\n";
  std::string written = edited(kernel_with(".address_size 64\n", counter), "  add.f32 %f2",
                               "  st.global.b32 [counter], %r1;\n  add.f32 %f2");
  rejects(written, "forbidden", "`counter`", "st.global.b32");
  std::string taken = edited(kernel_with(".address_size 64\n", counter), "  add.f32 %f2",
                             "  mov.b64 %rd6, counter;\n  add.f32 %f2");
  rejects(taken, "forbidden", "`counter`", "mov.b64 %rd6");
  std::string added = edited(kernel_with(".address_size 64\n", counter), "  add.f32 %f2",
                             "  atom.global.add.u32 %r5, [counter], 1;\n  add.f32 %f2");
  rejects(added, "forbidden", "`counter`", "atom.global");
  passes(edited(
      kernel_with(".address_size 64\n", ".address_size 64\n.global .align 4 .b32 table = 7;\n"),
      "  add.f32 %f2", "  ld.global.b32 %r5, [table];\n  add.f32 %f2"));
}

TEST_CASE("clocks are rejected whether or not the reference reads them") {
  for (std::string name : {"%clock", "%clock_hi"}) {
    std::string ptx = with("mov.u32 %r5, " + name + ";");
    rejects(ptx, "forbidden", name, "mov.u32 %r5");
    rejects(ptx, "forbidden", name, "mov.u32 %r5", ptx);
  }
  rejects(with("mov.u64 %rd6, %clock64;"), "forbidden", "%clock64", "mov.u64 %rd6");
  rejects(with("mov.u64 %rd6, %globaltimer;"), "forbidden", "%globaltimer", "mov.u64 %rd6");
  rejects(with("mov.u32 %r5, %globaltimer_lo;"), "forbidden", "%globaltimer_lo", "mov.u32 %r5");
}

TEST_CASE("where it runs is not for a candidate to ask, unless the reference does") {
  std::string ptx = with("mov.u32 %r5, %smid;");
  rejects(ptx, "forbidden", "%smid", "mov.u32 %r5");
  passes(ptx, ptx);
  passes(with("mov.u32 %r5, %nctaid.x;"));
  passes(with("mov.u32 %r5, %laneid;"));
}

TEST_CASE("instructions that stop, wait or mark are rejected") {
  for (std::string instruction : {"trap;", "brkpt;", "nanosleep.u32 100;", "pmevent 1;"})
    rejects(with(instruction), "forbidden", instruction.substr(0, instruction.find_first_of(" .;")),
            instruction);
}

TEST_CASE("caches may not be left to one's own advantage") {
  rejects(kernel_with("ld.global.f32 %f1", "ld.global.L1::evict_last.f32 %f1"), "forbidden",
          "evict_last", "ld.global.L1");
  rejects(with("discard.global.L2 [%rd4], 128;"), "forbidden", "discard", "discard");
  rejects(with("prefetch.global.L2 [%rd4];"), "forbidden", "prefetch", "prefetch");
  passes(kernel_with("ld.global.f32 %f1", "ld.global.L1::evict_first.f32 %f1"));
  std::string kept = kernel_with("ld.global.f32 %f1", "ld.global.L1::evict_last.f32 %f1");
  passes(kept, kept);
}

TEST_CASE("a cache policy must be made by createpolicy, and not to keep lines") {
  auto hinted = [](const std::string& policy) {
    return edited(with(policy), "ld.global.f32 %f1, [%rd4];",
                  "ld.global.L2::cache_hint.f32 %f1, [%rd4], %rd6;");
  };
  passes(hinted("createpolicy.fractional.L2::evict_first.b64 %rd6, 1.0;"));
  rejects(hinted("createpolicy.fractional.L2::evict_last.b64 %rd6, 1.0;"), "forbidden",
          "evict_last", "createpolicy");
  rejects(hinted("mov.b64 %rd6, 0x14F0000000000000;"), "forbidden", "createpolicy", "ld.global.L2");
}

TEST_CASE("a call of what the module does not define is rejected") {
  std::string declared =
      edited(kernel_with(".address_size 64\n",
                         ".address_size 64\n.extern .func vprintf (.param .b64 a);\n"),
             "  add.f32 %f2", "  call.uni vprintf, (%rd1);\n  add.f32 %f2");
  rejects(declared, "forbidden", "does not define", "call.uni");
}

TEST_CASE("dependents may be started only where the launch is a dependent one that waits") {
  std::string early = with("griddepcontrol.launch_dependents;");
  rejects(early, "forbidden", "dependents", "griddepcontrol");
  std::string block = "block = [128, 1, 1]\n";
  std::string toml = edited(kernel_toml, block, block + "pdl = true\n");
  std::string both = edited(early, "  griddepcontrol", "  griddepcontrol.wait;\n  griddepcontrol");
  CHECK(screen({kernel_contract(toml), early}).rejected() != nullptr);
  CHECK(screen({kernel_contract(toml), both}).passed() != nullptr);
}

TEST_CASE("unknown pragmas and directives are rejected, known ones are not") {
  rejects(with(".pragma \"be_fast\";"), "forbidden", "be_fast", ".pragma");
  passes(with(".pragma \"nounroll\";"));
}

TEST_CASE("a second entry and huge local memory are rejected") {
  rejects(kernel_ptx + ".visible .entry other()\n{\n  ret;\n}\n", "forbidden", "second entry",
          ".visible .entry other");
  rejects(with(".local .b8 depot[65536];"), "forbidden", "65536 bytes of .local", ".visible");
  passes(with(".local .b8 depot[256];"));
}

TEST_CASE("an instruction form that does not exist is rejected with the nearest") {
  rejects(kernel_with("add.f32 %f2", "add.wide.f32 %f2"), "instruction", "", "add.wide");
  auto step = screened(kernel_with("add.f32 %f2, %f1, %f1", "frobnicate.f32 %f2, %f1, %f1"));
  CHECK(step.passed() == nullptr);
}

TEST_CASE("an instruction newer than the declared version or absent from the target is rejected") {
  rejects(with("add.rn.f32x2 %rd6, %rd1, %rd2;"), "instruction", "", "add.rn.f32x2");
}

}  // namespace
}  // namespace lathe
