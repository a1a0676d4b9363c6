// Finding polynomials and bounding how far they are from functions.

#include "ptx/field_lemma.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>

#include "ptx/field_literal.h"
#include "ptx/isa.h"
#include "ptx/program.h"

namespace lathe::ptx::field {
namespace {

using Function = Lemma::Function;
using Polynomial = std::vector<double>;

constexpr std::size_t degree_min = 4, degree_max = 14, roots_max = 6;
/// Of the larger of |value| and 1/8: two units in the last place of an f32.
constexpr double error_max = 0x1p-21;
constexpr double value_min = 0.125;
/// Where the distance is bounded: at every multiple, and between two by the curvature.
constexpr double cell = 0x1p-15;
constexpr double reach = 2, width_min = 0.25;

double value_of(Function function, double t) {
  switch (function) {
    case Function::exp2:
      return std::exp2(t);
    case Function::exp:
      return std::exp(t);
    case Function::ln_1p:
      return std::log1p(t);
    default:
      return std::log1p(t) * 1.4426950408889634;
  }
}

/// At most, of the second derivative between t and the cell's other end.
double curvature_of(Function function, double t) {
  double end = t + cell, nearest = 1 + t;
  switch (function) {
    case Function::exp2:
      return std::exp2(end);
    case Function::exp:
      return std::exp(end);
    default:
      return 1.5 / (nearest * nearest);
  }
}

double value_at(const Polynomial& p, double t) {
  double sum = 0;
  for (std::size_t i = p.size(); i-- > 0;) sum = sum * t + p[i];
  return sum;
}

double curvature_at(const Polynomial& p, double radius) {
  double sum = 0;
  for (std::size_t i = p.size(); i-- > 2;)
    sum += std::fabs(p[i]) * static_cast<double>(i * (i - 1)) *
           std::pow(radius, static_cast<double>(i - 2));
  return sum;
}

/// How far apart the two are on [t, t + cell], of the larger of |value| and 1/8.
double distance(const Polynomial& p, Function function, double t) {
  double low = value_of(function, t), high = value_of(function, t + cell);
  double radius = std::max(std::fabs(t), std::fabs(t + cell));
  double error = std::max(std::fabs(value_at(p, t) - low), std::fabs(value_at(p, t + cell) - high));
  error += (curvature_at(p, radius) + curvature_of(function, t)) * cell * cell / 8;
  return error / std::max({std::fabs(low), std::fabs(high), value_min});
}

std::optional<Match> matched(const Polynomial& p, Function function) {
  Match match{function, 0, 0, 0};
  bool logarithm = function == Function::ln_1p || function == Function::log2_1p;
  double least = logarithm ? -0.75 : -reach;
  auto take = [&](double t) {
    double error = distance(p, function, t);
    if (!(error <= error_max)) return false;
    match.error = std::max(match.error, error);
    return true;
  };
  while (match.high < reach && take(match.high)) match.high += cell;
  while (match.low > least && take(match.low - cell)) match.low -= cell;
  if (match.high - match.low < width_min) return std::nullopt;
  return match;
}

/// What a register holds at one place of a straight run of operations.
struct Value {
  std::uint32_t number = 0;  // Equal numbers are one value.
  std::optional<double> literal;
  std::vector<std::pair<std::uint32_t, Polynomial>> polynomials;  // By the root's number.
  /// It is root * head + something.
  std::uint32_t head_of = 0;
  double head = 0;

  std::optional<Polynomial> in(std::uint32_t root) const {
    if (literal) return Polynomial{*literal};
    if (number == root) return Polynomial{0, 1};
    for (const auto& [of, polynomial] : polynomials)
      if (of == root) return polynomial;
    return std::nullopt;
  }
};

Polynomial sum_of(Polynomial a, const Polynomial& b, double sign) {
  a.resize(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < b.size(); ++i) a[i] += sign * b[i];
  return a;
}
Polynomial product_of(const Polynomial& a, const Polynomial& b) {
  Polynomial out(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k) out[i + k] += a[i] * b[k];
  return out;
}

/// Whether head + tail is the real that head is read as, more closely than head alone.
bool is_rest(double head, double tail) {
  Reading reading = read_literal(head, 24);
  if (reading.exact || tail == 0) return false;
  double rest = reading.value() - head;
  return std::fabs(rest - tail) <= 1e-4 * std::fabs(tail) &&
         std::fabs(tail) < 1e-6 * std::fabs(head);
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {
    for (const Constant& constant : program.constants)
      if (constant.kind == Constant::Kind::bits && constant.width == 4)
        constants_[constant.place] = static_cast<std::uint32_t>(constant.bits);
    find_blocks();
    find_lasting();
  }
  Lemmas run() {
    for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
      if (leaders_.contains(i)) values_.clear();
      look_at(i);
    }
    return std::move(found_);
  }

 private:
  std::string_view name_of(const Operation& op) const {
    return op.effect == Effect::none ? rows()[op.form.row].signature.opcode : std::string_view();
  }
  static bool moves(const Operation& op) {
    return op.effect == Effect::move && op.guard == no_spot && op.slot_count == 0 &&
           op.fixed[0].present() && op.fixed[1].present() && op.fixed[0].width == 4 &&
           op.fixed[1].width == 4;
  }
  void find_blocks() {
    for (std::uint32_t i = 0; i < program_.operations.size(); ++i) {
      const Operation& op = program_.operations[i];
      if (op.target == no_operation && op.join == no_operation) continue;
      leaders_.insert({i + 1, op.target, op.join});
    }
  }
  /// Registers that are set once, to a constant.
  void find_lasting() {
    std::unordered_map<Spot, unsigned> writers;
    for (const Operation& op : program_.operations)
      for (Spot place : program_.written(op)) ++writers[place];
    for (const Operation& op : program_.operations)
      if (moves(op) && writers[op.fixed[0].place] == 1)
        if (auto constant = constants_.find(op.fixed[1].place); constant != constants_.end())
          lasting_[op.fixed[0].place] = constant->second;
  }

  static double real_of(std::uint32_t bits) {
    float value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? read_literal(value, 24).value() : value;
  }
  Value value_of(Spot place) {
    auto literal = [&](std::uint32_t bits) {
      Value value;
      value.literal = real_of(bits);
      value.head = std::bit_cast<float>(bits);
      return value;
    };
    if (auto found = constants_.find(place); found != constants_.end())
      return literal(found->second);
    if (auto found = lasting_.find(place); found != lasting_.end()) return literal(found->second);
    auto [found, fresh] = values_.try_emplace(place);
    if (fresh) found->second.number = ++numbers_;
    return found->second;
  }
  void set(Spot place, Value value) { values_[place] = std::move(value); }

  void look_at(std::uint32_t index);
  std::optional<Polynomial> result_of(std::string_view name, const std::vector<Value>& sources,
                                      std::uint32_t root) const;
  void match(std::uint32_t index, const Value& result, const std::vector<Value>& sources);

  const Program& program_;
  std::unordered_map<Spot, std::uint32_t> constants_, lasting_;
  std::set<std::uint32_t> leaders_;
  std::unordered_map<Spot, Value> values_;
  std::uint32_t numbers_ = 0;
  Lemmas found_;
};

std::optional<Polynomial> Finder::result_of(std::string_view name,
                                            const std::vector<Value>& sources,
                                            std::uint32_t root) const {
  std::vector<Polynomial> p;
  for (const Value& source : sources) {
    std::optional<Polynomial> one = source.in(root);
    if (!one) return std::nullopt;
    p.push_back(*std::move(one));
  }
  if (name == "neg") return sum_of({}, p[0], -1);
  if (name == "add") return sum_of(p[0], p[1], 1);
  if (name == "sub") return sum_of(p[0], p[1], -1);
  if (p[0].size() + p[1].size() > degree_max + 2) return std::nullopt;
  Polynomial product = product_of(p[0], p[1]);
  return name == "mul" ? product : sum_of(std::move(product), p[2], 1);
}

void Finder::match(std::uint32_t index, const Value& result, const std::vector<Value>& sources) {
  for (const auto& [root, polynomial] : result.polynomials) {
    if (polynomial.size() <= degree_min) continue;
    for (std::uint8_t k = 0; k < sources.size(); ++k) {
      if (sources[k].literal || sources[k].number != root) continue;
      for (const Match& match : functions_of(polynomial))
        found_.try_emplace(index, Lemma{match.function, k, match.low, match.high, match.error});
    }
  }
}

void Finder::look_at(std::uint32_t index) {
  const Operation& op = program_.operations[index];
  std::string_view name = name_of(op);
  std::size_t count = name == "fma"                                     ? 3
                      : name == "add" || name == "sub" || name == "mul" ? 2
                      : name == "neg"                                   ? 1
                                                                        : 0;
  Value result;
  result.number = ++numbers_;
  if (moves(op)) {
    result = value_of(op.fixed[1].place);
  } else if (count != 0 && op.form.type == Type::f32 && op.guard == no_spot &&
             !op.form.has(Flag::sat) && !op.form.has(Flag::relu)) {
    std::vector<Value> sources;
    std::set<std::uint32_t> roots;
    for (std::size_t k = 1; k <= count; ++k) {
      sources.push_back(value_of(op.places[k]));
      if (!sources.back().literal) roots.insert(sources.back().number);
      for (const auto& [root, polynomial] : sources.back().polynomials) roots.insert(root);
    }
    for (std::uint32_t root : roots)
      if (result.polynomials.size() < roots_max)
        if (std::optional<Polynomial> p = result_of(name, sources, root))
          result.polynomials.emplace_back(root, *std::move(p));
    match(index, result, sources);
    if (name == "fma")
      for (unsigned k = 0; k < 2; ++k) {
        const Value &x = sources[k], &factor = sources[1 - k];
        if (x.literal || !factor.literal) continue;
        if (sources[2].head_of == x.number && is_rest(sources[2].head, factor.head))
          found_.try_emplace(index, Lemma{Function::rest_of_literal, 2, 0, 0, 0});
        result.head_of = x.number;
        result.head = factor.head;
      }
  }
  for (Spot place : program_.written(op)) {
    Value other;
    other.number = ++numbers_;
    bool is_result =
        moves(op) ? place == op.fixed[0].place : op.effect == Effect::none && place == op.places[0];
    set(place, is_result ? result : other);
  }
}

}  // namespace

std::vector<Match> functions_of(const std::vector<double>& coefficients) {
  std::vector<Match> out;
  for (Function function : {Function::exp2, Function::exp, Function::ln_1p, Function::log2_1p})
    if (std::optional<Match> match = matched(coefficients, function)) out.push_back(*match);
  return out;
}

std::string Lemma::text() const {
  constexpr std::array<std::string_view, 4> names{"2^t", "e^t", "ln(1 + t)", "log2(1 + t)"};
  if (function == Function::rest_of_literal) return "read as the rest of the literal before it";
  std::array<char, 160> out{};
  std::snprintf(out.data(), out.size(),
                "polynomial read as %s for t from %.4g to %.4g, which it is to %.1g",
                names[static_cast<std::size_t>(function)].data(), low, high, error);
  return out.data();
}

Lemmas find_lemmas(const Program& program) { return Finder(program).run(); }

}  // namespace lathe::ptx::field
