// docs/WITNESS.md is what the table and the archive say.

#include <catch2/catch.hpp>
#include <map>

#include "base/files.h"
#include "tests/places.h"
#include "tests/witness/coverage.h"
#include "tests/witness/instance.h"

namespace lathe::ptx::witness {
namespace {

const Archive& archive() {
  static const Archive made =
      *unpack(*read_file(std::string(source_folder) + "/tests/witness/sm_90a.bin"));
  return made;
}

/// The number before a word of the page's summary, "3795 forms".
std::size_t number_before(const std::string& page, const std::string& word) {
  std::size_t at = page.find(" " + word), begin = page.find_last_not_of("0123456789", at - 1) + 1;
  return std::stoul(page.substr(begin, at - begin));
}

/// `build/bin/witness_bench page tests/witness/sm_90a.bin` writes the page anew.
TEST_CASE("docs/WITNESS.md claims no row, form or vector that the archive does not have") {
  Result<std::string> page = read_file(std::string(source_folder) + "/docs/WITNESS.md");
  REQUIRE(page);
  std::string truth = witness_page(archive());
  CHECK(number_before(*page, "forms,") <= number_before(truth, "forms,"));
  CHECK(number_before(*page, "operand vectors") <= number_before(truth, "operand vectors"));
  auto all = coverage_of(archive());
  std::string witnessed = page->substr(0, page->find("## Not witnessed"));
  std::map<std::string, std::size_t> forms;  // Some rows differ in their types alone.
  for (std::size_t i = 0; i < all.size(); ++i)
    forms[" " + std::string(rows()[i].signature.text) + "\n"] += all[i].forms;
  for (const auto& [line, count] : forms) {
    INFO(line);
    if (witnessed.find(line) != std::string::npos) CHECK(count > 0);
  }
}

TEST_CASE("a row of another chip counts as not witnessed, with the reason") {
  auto all = coverage_of(archive());
  std::size_t blackwell = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (rows()[i].signature.opcode != "tcgen05") continue;
    ++blackwell;
    CHECK(all[i].forms == 0);
    CHECK(reason_without(i) == "sm_100a only");
  }
  CHECK(blackwell > 0);
}

TEST_CASE("a row that no device of ours can run says what it needs") {
  const std::map<std::string_view, std::string_view> wanted{
      {"vote.ballot.b32 d, a", "not from sm_70 on"},
      {"shfl(.up|.down|.bfly|.idx).b32 d, a, b, c", "not from sm_70 on"},
      {"multimem.red{.relaxed}{.release}{.scope}{.global}.add.type [a], b",
       "needs a multicast object"},
      {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}.ignore_oob "
       "[d], [a], b, c, e, [g]{, h}",
       "from ISA 9.2 on"}};
  std::size_t found = 0;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    auto reason = wanted.find(rows()[i].signature.text);
    if (reason == wanted.end()) continue;
    INFO(reason->first);
    ++found;
    CHECK(reason_without(i) == reason->second);
  }
  CHECK(found == wanted.size());
}

TEST_CASE("a row that another one's forms are on sm_90a has its witnesses there") {
  std::size_t twins = 0;
  auto all = coverage_of(archive());
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (all[i].forms == 0 && reason_without(i) == "a form of sm_89") ++twins;
  CHECK(twins == 3);  // cvt to and from pairs of fp8.
}

TEST_CASE("rows of arithmetic on sm_90a are all witnessed") {
  auto all = coverage_of(archive());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const RowText& row = rows()[i];
    if (row.effect != Effect::none || row.gate.target > 90 || row.gate.specific) continue;
    if (row.signature.opcode.starts_with('$')) continue;
    INFO(row.signature.text);
    CHECK(all[i].forms > 0);
  }
}

}  // namespace
}  // namespace lathe::ptx::witness
