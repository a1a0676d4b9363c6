// The table's kernels for sm_90a, one after the other.

#include <algorithm>
#include <set>

#include "tests/witness/kernel.h"
#include "tests/witness/written.h"

namespace lathe::ptx::witness {
namespace {

/// Most instances of a row: comparisons and conversions whole, memory by a sample.
std::size_t most_of(const RowText& row) {
  std::string_view name = row.signature.opcode;
  if (name == "wgmma") return 20000;
  if (name == "mbarrier" || name == "atom" || name == "red") return 24;
  if (row.signature.text.find('[') != std::string_view::npos) return 160;
  return name == "set" ? 240 : 700;
}

/// Of a row whose modifiers exclude one another, what the assembler takes: a sample with each word
/// and type in it. Without an assembler, any sample.
std::vector<Instance> legal_instances(std::uint16_t row, std::size_t most) {
  std::vector<Instance> all = instances_of(row, 2000, 5), legal;
  std::vector<Written> lines(all.size());
  Draw draw(row);
  for (std::size_t i = 0; i < all.size(); ++i) {
    lines[i].target = "sm_90a";
    auto operands = operand_texts(all[i], draw);
    lines[i].line = all[i].mnemonic();
    for (std::size_t j = 0; operands && j < operands->size(); ++j)
      lines[i].line += (j == 0 ? " " : ", ") + (*operands)[j];
    lines[i].line += ";";
  }
  for (std::size_t begin = 0; begin < all.size(); begin += 2000) {
    std::vector<const Written*> part;
    for (std::size_t i = begin; i < std::min(begin + 2000, all.size()); ++i)
      part.push_back(&lines[i]);
    Result<std::vector<std::string>> refusals = assembler_takes(part);
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!refusals || (*refusals)[i].empty()) legal.push_back(std::move(all[begin + i]));
  }
  // Whoever brings a word that is not there yet comes first.
  std::set<std::string_view> seen;
  std::stable_partition(legal.begin(), legal.end(), [&](const Instance& each) {
    bool fresh = false;
    for (std::string_view word : each.words) fresh |= seen.insert(word).second;
    return fresh;
  });
  if (legal.size() > most) legal.resize(most);
  return legal;
}

/// Every argument of a function of 16 bits: enough to make a table of it.
void add_sweep(std::vector<Kernel>& all, const Instance& instance) {
  bool function = instance.opcode() == "ex2" || instance.opcode() == "tanh";
  if (!function || (instance.type != Type::f16 && instance.type != Type::bf16)) return;
  Writer w(instance.mnemonic() + " of every argument", instance.mnemonic(), 512, 128);
  std::vector<std::uint64_t> arguments(w.count());
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = i;
  std::string a = w.load_given(instance.type, arguments), d = w.declare(instance.type);
  w.line(instance.mnemonic() + " " + d + ", " + a + ";");
  w.store(d, instance.type);
  all.push_back(w.finish(1, w.count()));
}

std::vector<Kernel> kernels_of(const Instance& instance) {
  std::vector<Kernel> all;
  std::string_view name = instance.opcode();
  std::uint32_t blocks = name == "set" || name == "setp" || name == "mov" ? 1 : 2;
  for (const Operands& operands : register_operands(instance))
    all.push_back(register_kernel(instance, operands, 128, blocks,
                                  all.empty() ? "" : "variant " + std::to_string(all.size())));
  add_sweep(all, instance);
  for (auto make : {warp_kernels, matrix_kernels, memory_kernels, shared_kernels, warpgroup_kernels,
                    address_kernels, sparse_kernels, fragment_kernels, cluster_kernels,
                    tensor_kernels, map_kernels, stack_kernels, wait_kernels})
    for (Kernel& kernel : make(instance)) all.push_back(std::move(kernel));
  return all;
}

}  // namespace

std::vector<Kernel> all_kernels(std::string_view opcodes) {
  std::string wanted = "," + std::string(opcodes) + ",";
  std::vector<Kernel> all;
  std::set<std::string> names;
  for (std::size_t number = 0; number < rows().size(); ++number) {
    const RowText& row = rows()[number];
    std::string_view name = row.signature.opcode;
    if (name.starts_with('$')) continue;
    if (!opcodes.empty() && wanted.find("," + std::string(name) + ",") == std::string::npos)
      continue;
    if (row.gate.specific ? row.gate.target != 90 : row.gate.target > 90) continue;
    auto index = static_cast<std::uint16_t>(number);
    bool memory = row.signature.text.find('[') != std::string_view::npos;
    for (const Instance& instance :
         memory ? legal_instances(index, most_of(row)) : instances_of(index, most_of(row), 5))
      for (Kernel& kernel : kernels_of(instance))
        if (names.insert(kernel.name).second) all.push_back(std::move(kernel));
  }
  return all;
}

}  // namespace lathe::ptx::witness
