// A proof whose process dies goes on from its journal: the same answer, and little done twice. What
// is counted is warp instructions, never time.

#include "verifier_node/journal.h"

#include "base/random.h"
#include "kernels.h"
#include "verifier_node/units.h"

namespace lathe::verifier_node {
namespace {

/// What comes in the place of kill -9.
struct Death {};

/// One process's part of a proof, and what it leaves behind.
struct Part {
  std::string journal;               // With all that was there before it.
  std::vector<std::uint64_t> steps;  // Of each unit that this process has finished.
  std::uint64_t found = 0;
  std::optional<Report> report;  // Nothing where it died.

  std::uint64_t work() const {
    std::uint64_t sum = 0;
    for (std::uint64_t each : steps) sum += each;
    return sum;
  }
};

struct Subject {
  Contract contract;
  std::string candidate;
  Options options;
};

Subject alternative(const std::string& name, const std::string& label) {
  Subject subject{small_contract(name), "", {}};
  auto folder = kernels() / "alternatives" / name;
  subject.options.candidate_launch =
      launch_of(subject.contract, text_of(folder / (label + ".toml")));
  subject.candidate = text_of(folder / (label + ".ptx"));
  return subject;
}

Subject itself(const std::string& name) {
  Contract contract = small_contract(name);
  std::string reference = contract.reference;
  return {std::move(contract), std::move(reference), {}};
}

/// Goes on from a journal and dies in the place of noting unit number `dies_after`.
Part proved(Subject subject, const std::string& before = "", std::size_t dies_after = SIZE_MAX) {
  Part part;
  part.journal = before;
  subject.options.version = "1";
  subject.options.journal = std::make_shared<Journal>([&](const std::string& bytes) {
    if (part.steps.size() == dies_after) throw Death{};
    Result<Unit> unit = decode_unit(bytes);
    REQUIRE(unit);
    part.steps.push_back(unit->steps);
    part.journal += framed(bytes);
  });
  REQUIRE(subject.options.journal->take(before));
  try {
    part.report = verified(subject.contract, subject.candidate, subject.options);
  } catch (const Death&) {
  }
  part.found = subject.options.journal->found();
  return part;
}

std::string alone(const Subject& subject) {
  return verified(subject.contract, subject.candidate, subject.options).json;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const char* name :
       {"sum_8x512_fp16_sm_89", "softmax_8x256_fp16_sm_89", "gemm_128x128x64_fp16_sm_90a"})
    all.push_back(itself(name));
  for (const auto& entry : std::filesystem::directory_iterator(kernels() / "alternatives" /
                                                               "gemm_256x256x128_fp16_sm_90a"))
    if (entry.path().extension() == ".ptx") {
      all.push_back(alternative("gemm_256x256x128_fp16_sm_90a", entry.path().stem()));
      break;
    }
  return all;
}

TEST_CASE("a proof that died anywhere goes on to the same answer, and does little twice") {
  for (const Subject& subject : subjects()) {
    INFO(subject.contract.name);
    std::string expected = alone(subject);
    CHECK(expected.find("\"verdict\":\"proved\"") != std::string::npos);
    Part whole = proved(subject);
    REQUIRE(whole.report);
    CHECK(whole.report->json == expected);
    CHECK(whole.found == 0);
    for (std::size_t percent : {10, 30, 50, 70, 90}) {
      std::size_t dies_after = whole.steps.size() * percent / 100;
      INFO("after " << dies_after << " of " << whole.steps.size() << " units");
      Part first = proved(subject, "", dies_after);
      CHECK_FALSE(first.report);
      Part second = proved(subject, first.journal);
      REQUIRE(second.report);
      CHECK(second.report->json == expected);
      CHECK(second.found != 0);
      // What was in hand when the first died is lost.
      std::uint64_t spent = first.work() + whole.steps[dies_after] + second.work();
      INFO(spent << " of " << whole.work());
      CHECK(spent * 100 < whole.work() * 120);
    }
  }
}

TEST_CASE("a proof that dies again and again ends") {
  Subject subject = itself("softmax_8x256_fp16_sm_89");
  std::string expected = alone(subject), journal;
  std::uint64_t work = 0;
  Part part;
  for (unsigned life = 0; life < 1000 && !part.report; ++life) {
    part = proved(subject, journal, 2);
    journal = part.journal;
    work += part.work();
  }
  REQUIRE(part.report);
  CHECK(part.report->json == expected);
  CHECK(work <= proved(subject).work());
}

TEST_CASE("a journal of another seed, text, version, option or launch is not used") {
  Subject subject = itself("softmax_8x256_fp16_sm_89");
  std::string journal = proved(subject).journal;
  CHECK(proved(subject, journal).found != 0);
  CHECK(proved(subject, journal).steps.empty());
  auto other = [&](const char* what, auto change) {
    INFO(what);
    Subject changed = subject;
    change(changed);
    Part part = proved(changed, journal);
    CHECK(part.found == 0);
    REQUIRE(part.report);
    CHECK(part.report->json == alone(changed));
  };
  other("seed", [](Subject& s) { s.options.seed = 99; });
  other("points", [](Subject& s) { s.options.points = 40; });
  other("stress blocks", [](Subject& s) { s.options.stress_blocks = 3; });
  other("steps", [](Subject& s) { s.options.steps_max = 1'000'000; });
  other("blocks", [](Subject& s) { s.options.block_end = 4; });
  other("candidate", [](Subject& s) {
    s.candidate = edited(s.candidate, "\tret;", "\tmov.u32 \t%r1, %r1;\n\tret;");
  });
  other("reference", [](Subject& s) {
    s.contract.reference = edited(s.contract.reference, "\tret;", "\tmov.u32 \t%r1, %r1;\n\tret;");
  });
  other("values", [](Subject& s) {
    for (Tensor& tensor : s.contract.tensors)
      if (tensor.role == Role::input) tensor.values.kind = Values::Uniform{-3, 3};
  });
  other("tolerance", [](Subject& s) { s.contract.tolerance.absolute *= 2; });
}

TEST_CASE("a journal of another version is not used") {
  Subject subject = itself("sum_8x512_fp16_sm_89");
  std::string journal = proved(subject).journal, expected = alone(subject);
  subject.options.version = "2";
  subject.options.journal = std::make_shared<Journal>();
  REQUIRE(subject.options.journal->take(journal));
  CHECK(verified(subject.contract, subject.candidate, subject.options).json == expected);
  CHECK(subject.options.journal->found() == 0);
}

TEST_CASE("a journal that is damaged anywhere is refused, and one that is cut holds what it held") {
  Subject subject = itself("sum_8x512_fp16_sm_89");
  std::string journal = proved(subject, "", 9).journal;
  for (std::uint64_t i = 0; i < 300; ++i) {
    std::string damaged = journal;
    std::size_t at = philox64(1, 2, i) % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + philox64(1, 3, i) % 255));
    INFO("byte " << at);
    Journal taken;
    Result<Done> done = taken.take(damaged);
    if (!done) {
      CHECK(done.error().fault == Fault::malformed);
      continue;
    }
    // A size that reaches past the end cuts the journal there.
    CHECK(frames_of(damaged)->size() < frames_of(journal)->size());
  }
  for (std::size_t size = 0; size < journal.size(); size += 97) {
    Journal taken;
    CHECK(taken.take(std::string_view(journal).substr(0, size)));
  }
  std::string cut = journal.substr(0, journal.size() - 1);
  Part part = proved(subject, cut);
  REQUIRE(part.report);
  CHECK(part.report->json == alone(subject));
}

TEST_CASE("a mistake is found beside the journal of what is right, and beside its own") {
  Subject wrong = itself("sum_8x512_fp16_sm_89");
  std::string journal = proved(wrong).journal;
  wrong.candidate = text_of(kernels() / "mistakes" / "sum_last_block.ptx");
  std::string expected = alone(wrong);
  CHECK(expected.find("\"verdict\":\"refuted\"") != std::string::npos);
  Part whole = proved(wrong, journal);
  CHECK(whole.found == 0);
  CHECK(whole.report->json == expected);
  for (std::size_t dies_after = 0; dies_after <= whole.steps.size(); dies_after += 5) {
    Part first = proved(wrong, "", dies_after), second = proved(wrong, first.journal);
    REQUIRE(second.report);
    CHECK(second.report->json == expected);
  }
}

TEST_CASE("every mistake is told with a journal as without one") {
  unsigned told = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kernels() / "mistakes")) {
    std::string name = entry.path().filename();
    bool softmax = name.starts_with("softmax_");
    if (entry.path().extension() != ".ptx" || (!softmax && !name.starts_with("sum_"))) continue;
    INFO(name);
    Subject wrong = itself(softmax ? "softmax_8x256_fp16_sm_89" : "sum_8x512_fp16_sm_89");
    wrong.candidate = text_of(entry.path());
    ptx::Parsed parsed = ptx::parse(wrong.candidate, name);
    if (!parsed.errors.empty() || parsed.module.find_entry(wrong.contract.entry) == nullptr)
      continue;
    std::string expected = alone(wrong);
    Part first = proved(wrong, "", 12);
    if (first.report) CHECK(first.report->json == expected);
    Part second = proved(wrong, first.journal);
    REQUIRE(second.report);
    CHECK(second.report->json == expected);
    // All that was noted up to the verdict, too, says nothing in the mistake's favour.
    Part again = proved(wrong, second.journal);
    REQUIRE(again.report);
    CHECK(again.report->json == expected);
    ++told;
  }
  CHECK(told != 0);
}

TEST_CASE("bytes that are no unit of this kind are none") {
  BlockUnit block;
  block.block.outcome.written.resize(3);
  block.block.literals = {1, 2, 3};
  std::string bytes = unit_bytes(block);
  REQUIRE(read_unit<BlockUnit>(bytes));
  CHECK(unit_bytes(*read_unit<BlockUnit>(bytes)) == bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(read_unit<BlockUnit>(std::string_view(bytes).substr(0, size)));
  CHECK_FALSE(read_unit<BlockUnit>(bytes + "x"));
  CHECK_FALSE(read_unit<BlockUnit>(std::string(64, '\xFF')));
  CHECK_FALSE(read_unit<PointUnit>(std::string(64, '\xFF')));
  CHECK_FALSE(read_unit<ptx::Traces>(std::string(64, '\xFF')));
}

}  // namespace
}  // namespace lathe::verifier_node
