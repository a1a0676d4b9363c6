// Near misses are never proved, true twins are, and both for the reason that their file states.

#include "soundness.h"
#include "tests/places.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace lathe::verifier_node {
namespace {

using soundness::Pair;
using soundness::PairFile;
using soundness::Variant;

void check_file(const std::string& name) {
  PairFile file =
      soundness::read_pairs(std::filesystem::path(source_folder) / "tests/soundness/pairs" / name);
  for (const Pair& pair : file.pairs)
    for (const Variant& variant : pair.variants) soundness::check_variant(pair, variant);
}

#define KIND(name) \
  TEST_CASE("pairs: " name) { check_file(name ".pairs"); }
KIND("01_integers")
KIND("02_signedness")
KIND("03_bits_of_floats")
KIND("04_frame")
KIND("05_blocks")
KIND("06_precision")
KIND("07_specials")
KIND("08_no_fences")
KIND("09_small_rings")
KIND("10_sets")
KIND("11_nothing_compared")
KIND("12_early_copies")
KIND("13_mbarrier")
KIND("14_proxies")
KIND("15_tcgen05")
KIND("16_swizzles")
KIND("17_maxima")
KIND("17a_lapped")
KIND("17b_fences")
KIND("17c_roundings")
KIND("18_powers_of_two")
KIND("19_fractions")
KIND("20_exponentials")
KIND("21_syntax")
KIND("22_packed")
KIND("23_atomics")
KIND("24_masks")
KIND("25_quantised")
KIND("26_translations")
KIND("27_unseen")
KIND("28_floats_alone")
KIND("i01_redux_on_floats")
KIND("i02_packed_weights")
KIND("i03_exp2_by_polynomial")
KIND("i04_log2_by_polynomial")
KIND("i05_erf_by_polynomial")
KIND("i06_sin_by_polynomial")
KIND("i07_split_sums")
KIND("i08_last_block")
KIND("i09_clamps_and_branches")
KIND("i10_online_softmax")
KIND("i11_softmax_without_maximum")
KIND("i12_welford")
KIND("i13_rescaling")
KIND("i14_causal_masks")
KIND("o1_clocks")
KIND("o2_barriers")
KIND("o2_clusters")
KIND("o3_no_order")
KIND("o4_wgmma")
KIND("o4_tcgen05")
KIND("o5_deadlock")
KIND("o6_same_bits")
#undef KIND

TEST_CASE("each kind has six near misses, all kinds two hundred, and each has its twins") {
  std::size_t kinds = 0, misses = 0;
  for (const std::filesystem::path& path : soundness::pair_files()) {
    PairFile file = soundness::read_pairs(path);
    INFO(file.name);
    CHECK(!file.about.empty());
    CHECK(file.count(true) >= 6);
    CHECK(file.count(false) >= 1);
    if (file.name[0] == 'o' || file.name[0] == 'i') continue;
    ++kinds;
    misses += file.count(true);
  }
  CHECK(kinds == 31);
  CHECK(misses >= 200);
}

TEST_CASE("each idiom is proved in five right forms, and has five wrong ones") {
  for (const std::filesystem::path& path : soundness::pair_files()) {
    PairFile file = soundness::read_pairs(path);
    if (file.name[0] != 'i') continue;
    INFO(file.name);
    std::size_t proved = 0;
    for (const Pair& pair : file.pairs)
      for (const Variant& variant : pair.variants)
        proved += !variant.miss && variant.verdict == "proved" ? 1 : 0;
    CHECK(proved >= 5);
    CHECK(file.count(true) >= 5);
  }
}

TEST_CASE("the rules of order have a hundred near misses") {
  static const std::set<std::string> ordering{"08_no_fences", "12_early_copies", "13_mbarrier",
                                              "14_proxies",   "15_tcgen05",      "17a_lapped",
                                              "17b_fences",   "23_atomics"};
  std::size_t misses = 0;
  for (const std::filesystem::path& path : soundness::pair_files())
    if (PairFile file = soundness::read_pairs(path);
        file.name[0] == 'o' || ordering.contains(file.name))
      misses += file.count(true);
  CHECK(misses >= 100);
}

TEST_CASE("no two variants of a pair are one text, and none is its reference") {
  for (const std::filesystem::path& path : soundness::pair_files())
    for (const Pair& pair : soundness::read_pairs(path).pairs) {
      INFO(pair.file << ": " << pair.name);
      std::set<std::string> texts;
      for (const Variant& variant : pair.variants) {
        INFO(variant.name);
        CHECK(texts.insert(soundness::candidate_of(pair, variant)).second);
      }
    }
}

// With one line an answer, for whoever adds pairs.
TEST_CASE("all answers, printed", "[.print]") {
  for (const std::filesystem::path& path : soundness::pair_files())
    DYNAMIC_SECTION(path.stem().string())
  for (const Pair& pair : soundness::read_pairs(path).pairs)
    for (const Variant& variant : pair.variants) {
      Report report = soundness::answer(pair, variant);
      std::printf("%s %s:%u %s %s %s: %s %s: %s\n",
                  soundness::right(variant, report) ? "ok " : "BAD", pair.file.c_str(),
                  variant.line, variant.miss ? "miss" : "twin", pair.name.c_str(),
                  variant.name.c_str(), report.verdict.c_str(), report.reason_code.c_str(),
                  report.reason.c_str());
    }
}

}  // namespace
}  // namespace lathe::verifier_node
