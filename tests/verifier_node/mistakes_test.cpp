// Planted mistakes: none is proved, what is refuted is replayed, and the reason is one that the
// index of the mistakes expects.

#include <algorithm>

#include "kernels.h"
#include "tests/places.h"

namespace lathe::verifier_node {
namespace {

std::string entry_of(const std::string& name) {
  std::string index = text_of(kernels() / "mistakes" / "index.toml");
  std::size_t at = index.find("\nname = \"" + name + "\"");
  REQUIRE(at != std::string::npos);
  return index.substr(at, index.find("[[", at + 1) - at);
}

void check_mistake(const std::string& name) {
  std::string entry = entry_of(name);
  Contract contract =
      contract_at(std::filesystem::path(source_folder) / values_of(entry, "contract")[0]);
  Report report = verified(
      contract, text_of(std::filesystem::path(source_folder) / values_of(entry, "file")[0]));
  INFO(report.json);
  auto among = [](const std::vector<std::string>& list, const std::string& what) {
    return std::find(list.begin(), list.end(), what) != list.end();
  };
  CHECK(report.verdict != "proved");
  CHECK(among(values_of(entry, "verdicts"), report.verdict));
  CHECK(among(values_of(entry, "reasons"), report.reason_code));
  bool refuted = report.verdict == "refuted";
  CHECK((report.json.find("\"replayed\":true") != std::string::npos) == refuted);
}

#define MISTAKE(name) \
  TEST_CASE("not proved: " #name) { check_mistake(#name); }
MISTAKE(silu_edge_lane)
MISTAKE(silu_missing_write)
MISTAKE(silu_off_by_one_address)
MISTAKE(silu_swapped_operands)
MISTAKE(silu_wrong_constant)
MISTAKE(silu_wrong_signedness)
MISTAKE(softmax_dropped_barrier)
MISTAKE(softmax_forgotten_max)
MISTAKE(softmax_input_overwritten)
MISTAKE(softmax_max_as_unsigned)
MISTAKE(softmax_missing_max)
MISTAKE(softmax_swapped_halves)
MISTAKE(softmax_wrong_constant)
MISTAKE(sum_divergent_barrier)
MISTAKE(sum_divided_by_itself)
MISTAKE(sum_dropped_barrier)
MISTAKE(sum_extra_write)
MISTAKE(sum_f16_accumulation)
MISTAKE(sum_forgotten_element)
MISTAKE(sum_last_block)
MISTAKE(sum_narrow_total)
MISTAKE(sum_neighbour_write)
MISTAKE(sum_off_by_one_row)
MISTAKE(sum_wrong_shuffle)
MISTAKE(gemm_dropped_barrier)
MISTAKE(gemm_f16_accumulation)
MISTAKE(gemm_missing_last_tile)
MISTAKE(gemm_short_wait)
MISTAKE(gemm_swapped_operands)
MISTAKE(gemm_wrong_step)
#undef MISTAKE

}  // namespace
}  // namespace lathe::verifier_node
