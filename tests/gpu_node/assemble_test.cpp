// The assemble gate finds a ptxas, reads what it says, and blames the candidate only for what is
// the candidate's.

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "base/json.h"
#include "gpu_node/assembler.h"
#include "gpu_node/diagnostics.h"
#include "gpu_node/targets.h"

namespace lathe::gpu_node {
namespace {

namespace fs = std::filesystem;

const char* const good = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
.reqntid 128
{
 .reg .b32 %r<10>;
 .reg .b64 %rd<4>;
 .shared .align 16 .b8 sm[64];
 ld.param.u64 %rd1, [p];
 st.global.b32 [%rd1], %r5;
 bar.sync 0;
 ret;
}
)";

Screened candidate(std::string ptx) {
  auto contract = std::make_shared<Contract>();
  contract->entry = "k";
  contract->target = "sm_90a";
  contract->launch.block = {128, 1, 1};
  ptx::Parsed parsed = ptx::parse(ptx, "candidate.ptx");
  Screened screened;
  screened.contract = contract;
  screened.ptx = std::move(ptx);
  screened.module = std::make_shared<ptx::Module>(std::move(parsed.module));
  return screened;
}

Assembler script(const Scratch& scratch, const std::string& body) {
  fs::path program = scratch.path() / "ptxas";
  REQUIRE(write_file(program, "#!/bin/sh\n" + body));
  fs::permissions(program, fs::perms::owner_all);
  return {program, "13.0.88", "9.0"};
}

bool without_assembler() {
  if (!find_assemblers().empty()) return false;
  std::cout << "LATHE-SKIP: no ptxas on this machine\n";
  return true;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("versions compare by number, not by letters") {
  CHECK(compare_versions("9.10", "9.4") > 0);
  CHECK(compare_versions("9.0", "9") == 0);
  CHECK(compare_versions("12.9.86", "13.0.88") < 0);
}

TEST_CASE("a release that lists nothing still has its PTX version") {
  CHECK(ptx_isa_of_release("12.8.93") == "8.7");
  CHECK(ptx_isa_of_release("12.5.40") == "8.4");
  CHECK(ptx_isa_of_release("11.8.89").empty());
}

TEST_CASE("the newest assembler that reads the version is chosen") {
  std::vector<Assembler> two{{"new", "13.0.88", "9.0"}, {"old", "12.8.93", "8.7"}};
  REQUIRE(choose_assembler(two, "8.0"));
  CHECK(choose_assembler(two, "8.0")->version == "13.0.88");
  two.insert(two.begin(), Assembler{"newest", "13.5.37", "9.5"});
  CHECK(choose_assembler(two, "9.4")->version == "13.5.37");
}

TEST_CASE("where none reads the version, the answer says which would") {
  Result<Assembler> none = choose_assembler({{"old", "13.0.88", "9.0"}}, "9.4");
  REQUIRE_FALSE(none);
  CHECK(none.error().fault == Fault::unavailable);
  CHECK(none.error().what.find("reads PTX up to 9.0") != std::string::npos);
  CHECK(none.error().remedy.find("CUDA 13.4") != std::string::npos);
}

TEST_CASE("a ptxas unpacked under a tools folder is found, and a broken one is not") {
  Scratch scratch;
  fs::path bin = scratch.path() / "pack" / "nvidia" / "cu13" / "bin";
  fs::create_directories(bin);
  REQUIRE(write_file(bin / "ptxas",
                     "#!/bin/sh\ncase $1 in --version) echo 'release 13.4, V13.4.9';; *) printf "
                     "'9.3\\n9.4\\n';; esac\n"));
  fs::permissions(bin / "ptxas", fs::perms::owner_all);
  Assembler broken = script(scratch, "exit 1\n");
  std::vector<Assembler> found = find_assemblers(Places{{broken.program}, {scratch.path()}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].version == "13.4.9");
  CHECK(found[0].ptx_isa_max == "9.4");
}

TEST_CASE("complaints are read with their lines, in the order of the file") {
  PtxasReport report = read_report(
      "ptxas a.ptx, line 16; error   : Unknown symbol '%r55'\n"
      "ptxas a.ptx, line 11; error   : Unknown modifier '.s33'\n"
      "ptxas a.ptx, line 3; warning : odd\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      "k");
  REQUIRE(report.diagnostics.size() == 4);
  CHECK(report.diagnostics[0].severity == Diagnostic::Severity::warning);
  CHECK(report.diagnostics[1].line == 11);
  CHECK(report.diagnostics[1].text == "Unknown modifier '.s33'");
  CHECK(report.diagnostics[2].line == 16);
  CHECK(report.diagnostics[3].line == 0);
}

TEST_CASE("resources are those of the entry that was asked for") {
  const char* text =
      "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 99 registers, used 1 barriers, 64 bytes smem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 6 registers, used 0 barriers, 350 bytes cmem[0]\n";
  Resources k = read_report(text, "k").resources;
  CHECK(k.registers == 6);
  CHECK(k.static_shared_bytes == 0);
  CHECK(k.stack_bytes == 0);
  Resources other = read_report(text, "other").resources;
  CHECK(other.registers == 99);
  CHECK(other.spill_load_bytes == 4);
  CHECK(read_report(text, "third").resources.registers == -1);
}

TEST_CASE("a good kernel assembles, the same bytes each time") {
  if (without_assembler()) return;
  Result<Assembler> assembler = choose_assembler("8.0");
  REQUIRE(assembler);
  Step<Assembled> first = assemble(candidate(good), *assembler, {});
  Step<Assembled> second = assemble(candidate(good), *assembler, {});
  REQUIRE(first.passed());
  REQUIRE(second.passed());
  CHECK(first.passed()->resources.registers > 0);
  CHECK(first.passed()->resources.static_shared_bytes == 64);
  CHECK(first.passed()->resources.barriers == 1);
  CHECK(first.passed()->assembler == "ptxas " + assembler->version);
  CHECK(first.passed()->cubin == second.passed()->cubin);
}

TEST_CASE("a kernel that ptxas refuses is rejected with line, column and source line") {
  if (without_assembler()) return;
  Step<Assembled> step =
      assemble(candidate(replaced(good, "%r5;", "%r55;")), *choose_assembler("8.0"), {});
  REQUIRE(step.rejected());
  const Evidence& evidence = step.rejected()->evidence;
  CHECK(evidence.code == "assemble");
  CHECK(evidence.place.line == 11);
  CHECK(evidence.place.column == 2);
  Json json = Json::parse(evidence.json);
  REQUIRE(json["complaints"].size() == 2);
  CHECK(json["complaints"][0]["source"] == " st.global.b32 [%rd1], %r55;");
  CHECK(json["complaints"][1]["text"] == "Unknown symbol '%r55'");
  CHECK(evidence.reason.ends_with("; `%r55` is no declared register"));
  CHECK(evidence.json.find("/tmp") == std::string::npos);
}

TEST_CASE("a complaint says what the instruction table would accept there") {
  if (without_assembler()) return;
  std::string wrong = replaced(good, "st.global.b32 [%rd1], %r5;", "add.s33 %r1, %r2, %r3;");
  Step<Assembled> step = assemble(candidate(wrong), *choose_assembler("8.0"), {});
  REQUIRE(step.rejected());
  Json json = Json::parse(step.rejected()->evidence.json);
  CHECK_FALSE(json["complaints"][0]["table"].get<std::string>().empty());
  CHECK(json["complaints"][0]["forms"][0].get<std::string>().starts_with("add"));
}

TEST_CASE("a version beyond the assembler is the host's lack, not the candidate's fault") {
  if (without_assembler()) return;
  Assembler assembler = *choose_assembler("8.0");
  Step<Assembled> step = assemble(candidate(replaced(good, "8.0", "99.0")), assembler, {});
  REQUIRE(step.error());
  CHECK(step.error()->fault == Fault::unavailable);
}

TEST_CASE("an assembler that hangs is undecided, never a pass or a fault of the candidate") {
  Scratch scratch;
  Limits limits;
  limits.assemble_seconds = 1;
  Step<Assembled> step = assemble(candidate(good), script(scratch, "exec sleep 30\n"), limits);
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::exhausted);
}

TEST_CASE("an assembler that crashes is undecided, whether by signal or by status 139") {
  for (const char* body : {"kill -SEGV $$\n", "exit 139\n"}) {
    Scratch scratch;
    Step<Assembled> step = assemble(candidate(good), script(scratch, body), {});
    REQUIRE(step.undecided());
    CHECK(step.undecided()->reason == Reason::unsupported);
    CHECK(step.undecided()->evidence.reason.find("signal 11") != std::string::npos);
  }
}

TEST_CASE("an assembler that ends well without a cubin is a broken host") {
  Scratch scratch;
  Step<Assembled> step = assemble(candidate(good), script(scratch, "exit 0\n"), {});
  REQUIRE(step.error());
  CHECK(step.error()->fault == Fault::unavailable);
}

TEST_CASE("a full disk under ptxas is the host's, and an error text is the candidate's") {
  Scratch scratch;
  const char* full = "echo \"ptxas fatal   : Could not open output file 'x'\" >&2; exit 255\n";
  CHECK(assemble(candidate(good), script(scratch, full), {}).error());
  const char* fault =
      "echo \"ptxas error   : Entry function 'k' uses too much shared data\" >&2; exit 255\n";
  CHECK(assemble(candidate(good), script(scratch, fault), {}).rejected());
}

TEST_CASE("a block that no multiprocessor can hold is rejected before any launch") {
  if (without_assembler()) return;
  Screened screened = candidate(good);
  auto contract = std::make_shared<Contract>(*screened.contract);
  contract->launch.dynamic_shared_bytes = 227 * 1024;
  screened.contract = contract;
  Step<Assembled> step = assemble(std::move(screened), *choose_assembler("8.0"), {});
  REQUIRE(step.rejected());
  CHECK(step.rejected()->evidence.code == "launch");
}

TEST_CASE("occupancy follows registers, shared memory, warps and blocks") {
  TargetLimits limits = *limits_of("sm_90a");
  CHECK(occupancy(limits, 128, 32, 0).blocks == 16);
  CHECK(occupancy(limits, 128, 64, 0).blocks == 8);
  CHECK(occupancy(limits, 128, 64, 0).limited_by == "registers");
  CHECK(occupancy(limits, 32, 16, 0).blocks == 32);
  CHECK(occupancy(limits, 256, 32, 100 * 1024).blocks == 2);
  CHECK(occupancy(limits, 1024, 65, 0).blocks == 0);
  CHECK(occupancy(*limits_of("sm_89"), 1024, 32, 0).blocks == 1);
}

}  // namespace lathe::gpu_node
