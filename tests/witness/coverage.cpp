// The page of witnesses, from the table and the archive.

#include "tests/witness/coverage.h"

#include <map>
#include <set>

#include "ptx/module.h"
#include "tests/witness/kernel.h"
#include "tests/witness/written.h"

namespace lathe::ptx::witness {
namespace {

/// The row that takes the record's instruction; none where the table has it no more.
std::optional<std::size_t> row_of(const Record& record) {
  std::size_t at = record.body.find("  " + record.mnemonic + " ");
  if (at == std::string::npos) at = record.body.find("  " + record.mnemonic + ";");
  if (at == std::string::npos) {
    at = record.body.find(" " + record.mnemonic + " ");
    if (at == std::string::npos) return std::nullopt;
  }
  std::string line = record.body.substr(at, record.body.find(';', at) + 1 - at);
  Parsed parsed = parse(std::string(module_header) + ".entry k()\n{\n" + line + "\n}\n", "row.ptx");
  if (!parsed.errors.empty() || parsed.module.functions[0].instructions.empty())
    return std::nullopt;
  auto found = match(parsed.module.functions[0].instructions[0], 90, Target{90, 'a'});
  if (!found) return std::nullopt;
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (&rows()[i] == found->row) return i;
  return std::nullopt;
}

/// A row before this one that takes the same forms on sm_90a, and so has all of its witnesses; the
/// row itself where there is none.
std::size_t same_form_before(std::size_t number) {
  const RowText& row = rows()[number];
  for (std::size_t i = 0; i < number; ++i) {
    const RowText& other = rows()[i];
    bool same = other.signature.text == row.signature.text && other.types == row.types &&
                other.others == row.others;
    if (same && !other.gate.specific && other.gate.target <= 90) return i;
  }
  return number;
}

void add_line(std::string& page, const RowText& row, const std::string& note) {
  std::string line = note;
  line.resize(std::max<std::size_t>(line.size() + 1, 30), ' ');
  page += line + std::string(row.signature.text) + "\n";
}

}  // namespace

std::vector<RowCoverage> coverage_of(const Archive& archive) {
  std::vector<RowCoverage> all(rows().size());
  std::map<std::string, std::optional<std::size_t>> known;
  for (const Record& record : archive.records) {
    auto [place, fresh] = known.emplace(record.mnemonic, std::nullopt);
    if (fresh) place->second = row_of(record);
    if (!place->second) continue;
    RowCoverage& row = all[*place->second];
    row.forms += fresh;
    ++row.kernels;
    row.vectors += record.vectors;
  }
  return all;
}

std::string reason_without(std::size_t number) {
  const RowText& row = rows()[number];
  std::string_view opcode = row.signature.opcode, text = row.signature.text;
  if (row.gate.specific && row.gate.target != 90)
    return "sm_" + std::to_string(row.gate.target) + "a only";
  if (row.gate.target > 90) return "from sm_" + std::to_string(row.gate.target) + " on";
  if (row.gate.isa > assembler_version)
    return "from ISA " + std::to_string(row.gate.isa / 10) + "." +
           std::to_string(row.gate.isa % 10) + " on";
  if ((opcode == "vote" || opcode == "shfl") && text.find(".sync") == text.npos)
    return "not from sm_70 on";
  if (std::size_t other = same_form_before(number); other != number)
    return "a form of sm_" + std::to_string(rows()[other].gate.target);
  static const std::set<std::string_view> flow{"bra",  "brx",  "call", "ret",
                                               "exit", "trap", "brkpt"};
  if (flow.contains(opcode)) return "control flow";
  if (row.signature.operands_max == 0 || row.effect == Effect::nothing) return "has no result";
  if (row.effect == Effect::prefetch || row.effect == Effect::policy) return "a hint";
  if (opcode == "multimem") return "needs a multicast object";
  return "no kernel yet";
}

std::string witness_page(const Archive& archive) {
  std::vector<RowCoverage> all = coverage_of(archive);
  std::size_t rows_with = 0, forms = 0, vectors = 0;
  std::string with, without;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const RowText& row = rows()[i];
    if (row.signature.opcode.starts_with('$')) continue;
    if (all[i].forms == 0) {
      add_line(without, row, reason_without(i));
      continue;
    }
    ++rows_with, forms += all[i].forms, vectors += all[i].vectors;
    add_line(
        with, row,
        std::to_string(all[i].forms) + " forms, " + std::to_string(all[i].vectors) + " vectors");
  }
  return "# What a device has witnessed\n\nWritten by `witness_bench page` from the table and "
         "`tests/witness/sm_90a.bin` (" +
         archive.device +
         "). `witness_tests` replays it: every form "
         "below gives here, bit for bit, what the device gave; approximate functions within the "
         "manual's bound.\n\n" +
         std::to_string(rows_with) + " rows, " + std::to_string(forms) + " forms, " +
         std::to_string(vectors) + " operand vectors.\n\n## Witnessed\n\n```\n" + with +
         "```\n\n## Not witnessed\n\nThese rows rest on the manual and on the sources that "
         "`docs/SOUNDNESS.md` names, not on a device.\n\n```\n" +
         without + "```\n";
}

}  // namespace lathe::ptx::witness
