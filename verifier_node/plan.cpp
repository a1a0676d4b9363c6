// Reading off instructions what a proof needs.

#include "verifier_node/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace lathe::verifier_node {
namespace {

struct Uses {
  bool exponential = false, root_or_log = false, comparison = false, branch_on_float = false;
  bool matrix = false, division = false;
};

bool float_modifier(std::string_view m) {
  return m == "f32" || m == "f16" || m == "f64" || m == "bf16" || m == "f16x2" || m == "bf16x2" ||
         m == "f32x2";
}

bool integer_modifier(std::string_view m) {
  return m.size() >= 2 && (m[0] == 's' || m[0] == 'u') && m[1] >= '1' && m[1] <= '8';
}

/// A float becomes an integer: what is made of that may be compared.
bool makes_integer(const ptx::Instruction& instruction) {
  auto type =
      std::find_if(instruction.modifiers.begin(), instruction.modifiers.end(),
                   [](std::string_view m) { return float_modifier(m) || integer_modifier(m); });
  return instruction.opcode == "cvt" && type != instruction.modifiers.end() &&
         integer_modifier(*type);
}

/// An integer becomes the exponent of a float.
bool makes_exponent(const ptx::Instruction& instruction) {
  constexpr std::uint64_t exponent_place = 23;
  return instruction.opcode == "shl" &&
         std::any_of(instruction.operands.begin(), instruction.operands.end(),
                     [](const ptx::Operand& operand) {
                       return operand.kind == ptx::Operand::Kind::integer &&
                              operand.bits == exponent_place;
                     });
}

void look_at(const ptx::Instruction& instruction, Uses& uses) {
  std::string_view op = instruction.opcode;
  bool floats =
      std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), float_modifier);
  if (op == "mma" || op == "wgmma" || op == "tcgen05") uses.matrix = true;
  if (op == "div" || op == "rcp" || op == "lg2" || op == "rsqrt") uses.division = true;
  if (op == "ex2" || op == "tanh" || makes_exponent(instruction)) uses.exponential = true;
  if (op == "lg2" || op == "sqrt" || op == "rsqrt") uses.root_or_log = true;
  if (!floats) return;
  if (op == "max" || op == "min" || op == "redux" || op == "abs") uses.comparison = true;
  if (op == "setp" || op == "set" || op == "slct" || op == "testp" || makes_integer(instruction))
    uses.branch_on_float = true;
}

/// Every f32 literal of a body: as 0f........ or as the bits of a 32-bit integer that is moved.
void collect_literals(const ptx::Operand& operand, std::uint32_t line,
                      std::map<std::uint32_t, std::uint32_t>& lines) {
  using Kind = ptx::Operand::Kind;
  bool bits = operand.kind == Kind::float_bits && operand.width == 32;
  bool integer = operand.kind == Kind::integer && operand.bits > 0x00800000u &&
                 operand.bits <= 0xFFFFFFFFu && operand.bits != 0x7FFFFFFFu;
  if (bits || integer) lines.try_emplace(static_cast<std::uint32_t>(operand.bits), line);
  for (const ptx::Operand& part : operand.parts) collect_literals(part, line, lines);
}

void note_literals(const ptx::Function& function, bool of_reference,
                   std::set<std::uint32_t>& squares, Plan& plan) {
  std::map<std::uint32_t, std::uint32_t> lines;
  for (const ptx::Instruction& instruction : function.instructions) {
    bool arithmetic =
        std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), float_modifier) ||
        instruction.opcode == "mov" || instruction.opcode == "selp";
    if (!arithmetic) continue;
    for (const ptx::Operand& operand : instruction.operands)
      collect_literals(operand, instruction.span.line, lines);
  }
  for (const auto& [bits, line] : lines) {
    double value = std::bit_cast<float>(bits);
    if (!std::isfinite(value) || value == 0) continue;
    ptx::field::Reading reading = ptx::field::read_literal(value, 24);
    for (std::uint32_t factor : ptx::field::factors_of(reading)) squares.insert(factor);
    double magnitude = std::fabs(value);
    for (double sign : {1.0, -1.0}) plan.thresholds.push_back(sign * reading.value());
    if (magnitude > 1e-6 && magnitude < 60) plan.boundaries.push_back(magnitude);
    if (reading.exact) continue;
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%08X", bits);
    plan.readings.push_back({bits, "constant " + std::string(text.data()) + " read as " +
                                       reading.text() + " (" +
                                       (of_reference ? "reference" : "candidate") + " line " +
                                       std::to_string(line) + ")"});
  }
}

}  // namespace

void Polynomials::take(const ptx::field::Lemmas& lemmas) {
  using Function = ptx::field::Lemma::Function;
  for (const auto& [operation, lemma] : lemmas) {
    exponential |= lemma.function == Function::exp2 || lemma.function == Function::exp;
    logarithm |= lemma.function == Function::ln_1p || lemma.function == Function::log2_1p;
  }
}

void deepen(Plan& plan) {
  plan.levels = ptx::field::levels;
  std::uint64_t points = plan.runs * plan.points_each;
  plan.points_each = 2;
  plan.runs = (points + 1) / 2;
  plan.points = plan.runs * plan.points_each;
}

Plan make_plan(const ptx::Module& reference, const ptx::Module& candidate, const std::string& entry,
               std::uint32_t points, Polynomials polynomials) {
  Plan plan;
  Uses uses;
  uses.exponential = polynomials.exponential;
  uses.root_or_log = polynomials.logarithm;
  std::set<std::uint32_t> squares;
  bool of_reference = true;
  for (const ptx::Module* module : {&reference, &candidate}) {
    if (const ptx::Function* function = module->find_entry(entry)) {
      for (const ptx::Instruction& instruction : function->instructions) look_at(instruction, uses);
      note_literals(*function, of_reference, squares, plan);
    }
    of_reference = false;
  }
  std::sort(plan.boundaries.begin(), plan.boundaries.end());
  plan.boundaries.erase(std::unique(plan.boundaries.begin(), plan.boundaries.end()),
                        plan.boundaries.end());
  plan.thresholds.push_back(0);
  std::sort(plan.thresholds.begin(), plan.thresholds.end());
  plan.thresholds.erase(std::unique(plan.thresholds.begin(), plan.thresholds.end()),
                        plan.thresholds.end());
  if (squares.size() <= 3) plan.squares.assign(squares.begin(), squares.end());
  plan.linked = uses.exponential || uses.root_or_log;
  plan.ties = uses.branch_on_float && !uses.division;
  // Sums of products of small primes are exact in doubles.
  if (uses.matrix) plan.prime_bits = 23;
  if (uses.root_or_log) {
    plan.points_each = 2;
    plan.runs = uses.branch_on_float ? 8 : 4;
  } else if (uses.exponential) {
    plan.levels = 2;
    plan.points_each = 4;
    plan.runs = uses.branch_on_float ? 8 : uses.comparison ? 3 : 1;
    plan.one_if_undecided = !uses.branch_on_float;
  } else {
    plan.runs = uses.branch_on_float ? 6 : uses.comparison ? 3 : 1;
    plan.one_if_undecided = !uses.branch_on_float;
  }
  if (points != 0) {
    plan.runs = (points + plan.points_each - 1) / plan.points_each;
    plan.one_if_undecided = false;
  }
  plan.points = plan.runs * plan.points_each;
  return plan;
}

}  // namespace lathe::verifier_node
