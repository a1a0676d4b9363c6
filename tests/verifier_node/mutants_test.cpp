// A seeded sample of the mutants' campaign, and what its arguments of sameness do and do not show.

#include "campaign.h"
#include "kernels.h"

namespace lathe::verifier_node::mutation {
namespace {

Tally campaign(const std::string& kernel, std::uint64_t count) {
  Result<std::unique_ptr<Subject>> subject = Subject::make(kernels() / "contracts" / kernel, 7);
  if (!subject) FAIL(subject.error().what);
  Tally tally;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto answer = (*subject)->ask(static_cast<Edit>(i % edit_names.size()), i);
    if (!answer) continue;
    INFO(answer->text());
    CHECK(answer->kind != Kind::proved);
    tally.take(*answer);
  }
  return tally;
}

Counts all_of(const Tally& tally) {
  Counts sum;
  for (const Counts& counts : tally.by_edit) sum += counts;
  return sum;
}

void check_sample(const std::string& kernel) {
  Counts sum = all_of(campaign(kernel, 24));
  CHECK(sum.total() >= 15);
  CHECK(sum.unstated <= sum.total() / 4);
}

TEST_CASE("mutants of a row sum are refuted, or shown to be the same") {
  check_sample("sum_8x512_fp16_sm_89");
}
TEST_CASE("mutants of silu are refuted, or shown to be the same") {
  check_sample("silu_4x512_fp16_sm_90a");
}
TEST_CASE("mutants of softmax are refuted, or shown to be the same") {
  check_sample("softmax_8x256_fp16_sm_100a");
}

TEST_CASE("the same draw of the same seed is the same mutant, another seed's is another") {
  Contract contract = small_contract("silu_4x512_fp16_sm_89");
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  Mutator one(parsed.module, contract.entry, 1), same(parsed.module, contract.entry, 1),
      other(parsed.module, contract.entry, 2);
  unsigned differ = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto a = one.draw(Edit::other_register, i), b = same.draw(Edit::other_register, i),
         c = other.draw(Edit::other_register, i);
    REQUIRE(a.has_value() == b.has_value());
    if (a) CHECK(a->text == b->text);
    differ += a && c && a->text != c->text ? 1 : 0;
  }
  CHECK(differ > 10);
}

/// The argument for an edit of the row sum by hand.
std::string argument(Edit edit, const std::string& opcode, const std::string& from,
                     const std::string& to) {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  const ptx::Function* function = parsed.module.find_entry(contract.entry);
  for (std::size_t i = 0; i < function->instructions.size(); ++i) {
    Parts parts(function->instructions[i]);
    if (parts.op != opcode || parts.print().find(from) == std::string::npos) continue;
    Mutant mutant;
    mutant.edit = edit;
    mutant.instruction = i;
    const ptx::Span& span = function->instructions[i].span;
    mutant.before = contract.reference.substr(span.begin, span.end - span.begin);
    mutant.after = to.empty() ? "" : edited(mutant.before, from, to);
    mutant.text = contract.reference;
    mutant.text.replace(span.begin, span.end - span.begin, mutant.after);
    return Sameness(contract, parsed.module).argument(mutant);
  }
  FAIL("the row sum has no " << opcode << " with " << from);
  return "";
}

TEST_CASE("swapped operands of a sum are the same") {
  CHECK(argument(Edit::swapped_operands, "add.f32", "%r18, %r19", "%r19, %r18") != "");
  CHECK(argument(Edit::other_register, "add.f32", "%r18, %r19", "%r18, %r18") == "");
}

TEST_CASE("a register that is set again before anybody reads it need not be set") {
  CHECK(argument(Edit::dropped, "mov.u32", "%r2, 0x0", "").find("dead code") != std::string::npos);
  CHECK(argument(Edit::changed_constant, "mov.u32", "%r2, 0x0", "%r2, 7") != "");
  CHECK(argument(Edit::dropped, "shl.b32", "%r15", "") == "");
}

/// The argument for two neighbours of the row sum that change places.
std::string argument_of_neighbours(const std::string& first, const std::string& second) {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  const auto& all = parsed.module.find_entry(contract.entry)->instructions;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (Parts(all[i]).op != first || Parts(all[i + 1]).op != second) continue;
    auto text = [&](const ptx::Instruction& instruction) {
      return contract.reference.substr(instruction.span.begin,
                                       instruction.span.end - instruction.span.begin);
    };
    Mutant mutant;
    mutant.edit = Edit::neighbours;
    mutant.instruction = i;
    mutant.before = text(all[i]);
    mutant.after = text(all[i + 1]);
    mutant.text = contract.reference;
    mutant.text.replace(all[i + 1].span.begin, mutant.after.size(), mutant.before);
    mutant.text.replace(all[i].span.begin, mutant.before.size(), mutant.after);
    return Sameness(contract, parsed.module).argument(mutant);
  }
  FAIL("the row sum has no " << first << " before " << second);
  return "";
}

TEST_CASE("neighbours that share no register may change places, others may not") {
  CHECK(argument_of_neighbours("bar.sync", "setp.lt.u32") != "");
  CHECK(argument_of_neighbours("shfl.sync.bfly.b32", "add.f32") == "");
}

TEST_CASE("a mask that all indices pass is the same, one that some do not pass is not") {
  CHECK(argument(Edit::changed_constant, "and.b32", "63", "127").find("all blocks") !=
        std::string::npos);
  CHECK(argument(Edit::changed_constant, "and.b32", "63", "31") == "");
}

TEST_CASE("a barrier that orders something is not the same without it") {
  CHECK(argument(Edit::synchronisation, "bar.sync", "0", "") == "");
}

}  // namespace
}  // namespace lathe::verifier_node::mutation
