// Stress inputs that are run at once give bit for bit what they give one by one; where data decide
// what a kernel does, they are run one by one, and the first class in order still decides.

#include <functional>

#include "kernels.h"
#include "ptx/engine.h"
#include "verifier_node/binding.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node {
namespace {

/// A reference and a candidate under one contract, decoded.
struct Pair {
  Contract contract;
  ptx::Parsed reference, candidate;
  Sides sides;

  Pair(Contract given, const std::string& text, std::optional<Launch> launch = {})
      : contract(std::move(given)),
        reference(ptx::parse(contract.reference, "reference.ptx")),
        candidate(ptx::parse(text, "candidate.ptx")) {
    sides.contract = &contract;
    sides.buffers = buffers_of(contract);
    sides.parameters = parameter_bytes(contract);
    take(sides.reference, reference.module, contract.launch);
    take(sides.candidate, candidate.module, launch.value_or(contract.launch));
  }
  Pair(const Pair&) = delete;
  void take(Subject& subject, const ptx::Module& module, const Launch& launch) const {
    Result<ptx::Program> program = ptx::decode(module, contract.entry);
    REQUIRE(program);
    subject.module = &module;
    subject.program = *std::move(program);
    subject.launch = launch;
  }
};

void check_same(const Replayed& one, const Replayed& other) {
  CHECK(one.trap.has_value() == other.trap.has_value());
  CHECK(one.bytes == other.bytes);
  CHECK(one.written == other.written);
  CHECK(one.steps == other.steps);
}

struct Went {
  std::size_t at_once = 0, by_itself = 0;
};

/// Both sides on all classes of inputs, one by one and together.
Went compare(const Sides& sides, const std::vector<std::uint64_t>& blocks,
             const std::function<void(Replay&)>& prepare = {}) {
  Replay one(sides), several(sides);
  if (prepare) prepare(several);
  std::vector<InputClass> classes = input_classes(*sides.contract);
  Went went;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CAPTURE(name_of(classes[i]));
    std::vector<Replay::Following> next;
    for (std::size_t k = i + 1; k < classes.size(); ++k) next.push_back({classes[k], {}});
    several.expect(next);
    REQUIRE(one.use_inputs(classes[i], 5));
    REQUIRE(several.use_inputs(classes[i], 5));
    for (Side side : {Side::reference, Side::candidate}) {
      std::size_t before = several.beforehand();
      Replayed expected = one.run(side, blocks), given = several.run(side, blocks);
      check_same(expected, given);
      ++(several.beforehand() < before ? went.at_once : went.by_itself);
      // What follows is not what these are asked for.
      if (i == 1) check_same(one.run(side, {blocks[0]}), several.run(side, {blocks[0]}));
    }
  }
  return went;
}

/// On these inputs, in order, what decides.
std::string decided(const Sides& sides, const std::vector<std::uint64_t>& blocks, bool together) {
  Replay replay(sides);
  StressPlan plan;
  plan.reference_blocks = plan.candidate_blocks = blocks;
  std::vector<InputClass> classes = input_classes(*sides.contract);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<Replay::Following> next;
    for (std::size_t k = i + 1; k < classes.size() && together; ++k)
      next.push_back({classes[k], {}});
    replay.expect(next);
    Result<std::optional<Witness>> witness = try_input(replay, sides, plan, classes[i], 5);
    if (!witness) return std::string(name_of(classes[i])) + ": " + witness.error().what;
    if (!*witness) continue;
    const Witness& shown = **witness;
    return shown.input_class + " " + std::to_string(shown.input_seed) + " " + shown.kind + " " +
           shown.tensor + " " + (shown.index.empty() ? "" : std::to_string(shown.index[0])) + " " +
           std::to_string(shown.reference_value.value_or(0)) + " " +
           std::to_string(shown.candidate_value.value_or(0));
  }
  return "";
}

/// The row sum with something done to the total before it is rounded.
std::string with_total(const Contract& contract, const std::string& lines) {
  return edited(contract.reference, "\tcvt.rn.f16.f32 \t%rs1, %r48;",
                "\t{\n\t.reg .pred \t%q<3>;\n\t" + lines + "\n\t}\n\tcvt.rn.f16.f32 \t%rs1, %r48;");
}

}  // namespace

TEST_CASE("classes of inputs are run at once, and give what each gives alone") {
  for (const char* name : {"sum_8x512_fp16_sm_89", "softmax_8x256_fp16_sm_89",
                           "silu_4x512_fp16_sm_90a", "gemm_128x128x64_fp16_sm_89",
                           "gemm_128x128x64_fp16_sm_90a", "gemm_128x128x64_fp16_sm_100a"}) {
    INFO(name);
    Contract contract = small_contract(name);
    Pair pair(contract, contract.reference);
    Went went = compare(pair.sides, {0});
    if (ptx::engine_variant() != "avx2") continue;
    CHECK(went.by_itself <= 4);  // The first of each side, and one whose pages were found missing.
    CHECK(went.at_once >= 8);
  }
}

TEST_CASE("the same with a journal, in parts, and beside what is kept") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  Pair pair(contract, contract.reference);
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < contract.launch.blocks(); ++i) blocks.push_back(i);
  Journal journal;
  compare(pair.sides, blocks, [&](Replay& replay) { replay.note_in(&journal, {}); });
  CHECK(journal.steps() > 0);
}

TEST_CASE("where data decide what is done, inputs are run one by one") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  const std::string guarded =
      "setp.gt.f32 \t%q1, %r48, 0f00000000;\n\t"
      "@%q1 add.f32 \t%r48, %r48, 0f3F800000;";
  Pair pair(contract, with_total(contract, guarded));
  Went went = compare(pair.sides, {0, 3});
  if (ptx::engine_variant() == "avx2") CHECK(went.at_once >= 4);  // The reference.
}

TEST_CASE("the first class in order decides, at once or one by one") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  const std::string differs[] = {
      // From overflow on, by a value, by a value behind a guard, and by a fault.
      "setp.gt.f32 \t%q1, %r48, 0f49742400;\n\tselp.f32 \t%r48, 0f3F800000, %r48, %q1;",
      "setp.gt.f32 \t%q1, %r48, 0f49742400;\n\t@%q1 mov.f32 \t%r48, 0f3F800000;",
      "setp.gt.f32 \t%q1, %r48, 0f49742400;\n\t@%q1 trap;",
      // Where the total is zero, and where it is no number.
      "setp.eq.f32 \t%q1, %r48, 0f00000000;\n\tselp.f32 \t%r48, 0f3F800000, %r48, %q1;",
      "setp.nan.f32 \t%q1, %r48, %r48;\n\tselp.f32 \t%r48, 0f3F800000, %r48, %q1;",
      // Everywhere, and nowhere.
      "add.f32 \t%r48, %r48, 0f42C80000;",
      "add.f32 \t%r48, %r48, 0f00000000;",
  };
  std::size_t decisions = 0;
  for (const std::string& each : differs) {
    INFO(each);
    Pair pair(contract, with_total(contract, each));
    std::string expected = decided(pair.sides, {0, 3}, false);
    CHECK(decided(pair.sides, {0, 3}, true) == expected);
    decisions += expected.empty() ? 0 : 1;
  }
  CHECK(decisions >= 3);
}

}  // namespace lathe::verifier_node
