// Integer arithmetic on all threads at once, by walking definitions back to %tid.x.

#include "planner/thread_values.h"

#include <algorithm>
#include <charconv>

namespace lathe::planner {
namespace {

using ptx::Instruction;
using ptx::Operand;

constexpr unsigned depth_max = 64;

std::uint32_t required_threads(const ptx::Function& function) {
  for (const ptx::Directive& directive : function.directives) {
    if (!directive.text.starts_with(".reqntid")) continue;
    std::uint64_t count = 1;
    std::size_t dimension = 0;
    for (const char *at = directive.text.data() + 8,
                    *end = directive.text.data() + directive.text.size();
         at < end;) {
      if (*at < '0' || *at > '9') {
        ++at;
        continue;
      }
      std::uint32_t extent = 0;
      at = std::from_chars(at, end, extent).ptr;
      if (dimension++ > 0 && extent != 1) return 0;
      count *= extent;
    }
    return count <= 1024 ? static_cast<std::uint32_t>(count) : 0;
  }
  return 0;
}

unsigned width_of(std::string_view type) {
  if (type == "pred") return 1;
  if (type.ends_with("64")) return 64;
  if (type.ends_with("32")) return 32;
  if (type.ends_with("16")) return 16;
  return 0;
}

std::uint64_t mask_of(unsigned width) {
  return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

std::int64_t sign_extended(std::uint64_t bits, unsigned width) {
  std::uint64_t sign = std::uint64_t{1} << (width - 1);
  bits &= mask_of(width);
  return static_cast<std::int64_t>((bits ^ sign) - sign);
}

struct Form {
  std::string_view opcode, type, mode;
  unsigned width = 0;
  bool is_signed = false;
};

std::optional<bool> compared(const Form& form, std::uint64_t a, std::uint64_t b) {
  a &= mask_of(form.width);
  b &= mask_of(form.width);
  bool less = form.is_signed ? sign_extended(a, form.width) < sign_extended(b, form.width) : a < b;
  std::string_view mode = form.mode;
  if (mode == "eq") return a == b;
  if (mode == "ne") return a != b;
  if (mode == "lt" || mode == "lo") return less;
  if (mode == "ge" || mode == "hs") return !less;
  if (mode == "le" || mode == "ls") return less || a == b;
  if (mode == "gt" || mode == "hi") return !less && a != b;
  return std::nullopt;
}

/// Of two numbers.
std::optional<std::uint64_t> binary(const Form& form, std::uint64_t a, std::uint64_t b) {
  std::string_view opcode = form.opcode;
  unsigned width = form.width;
  a &= mask_of(width);
  if (opcode == "shl") return (b & 0xFFFFFFFF) >= width ? 0 : a << (b & 63);
  if (opcode == "shr") {
    std::uint64_t by = b & 0xFFFFFFFF;
    if (!form.is_signed) return by >= width ? 0 : a >> by;
    return static_cast<std::uint64_t>(sign_extended(a, width) >>
                                      std::min<std::uint64_t>(by, width - 1));
  }
  b &= mask_of(width);
  if (opcode == "and") return a & b;
  if (opcode == "or") return a | b;
  if (opcode == "xor") return a ^ b;
  if (opcode == "add" && form.mode.empty()) return a + b;
  if (opcode == "sub" && form.mode.empty()) return a - b;
  if (opcode == "mul" && form.mode == "lo") return a * b;
  if (opcode == "mul" && form.mode == "wide" && width <= 32)
    return form.is_signed
               ? static_cast<std::uint64_t>(sign_extended(a, width) * sign_extended(b, width))
               : a * b;
  if (opcode == "setp") {
    auto answer = compared(form, a, b);
    if (answer) return *answer;
  }
  return std::nullopt;
}

Form form_of(const Instruction& instruction) {
  Form form;
  form.opcode = instruction.opcode;
  if (instruction.modifiers.empty()) return form;
  form.type = instruction.modifiers.back();
  form.width = width_of(form.type);
  if (form.type.front() == 'f' || form.type.front() == 'b') form.is_signed = false;
  form.is_signed = form.type.front() == 's';
  if (instruction.modifiers.size() == 2) form.mode = instruction.modifiers.front();
  // A float or a vector type is not arithmetic on integers; a third modifier is not known here.
  if (form.type.front() == 'f' || form.type.ends_with("x2") || instruction.modifiers.size() > 2)
    form.width = 0;
  return form;
}

/// A variable's address takes part in sums alone.
std::optional<ThreadValue> combined(const Form& form, const ThreadValue& a, const ThreadValue& b) {
  auto bits = binary(form, a.bits, b.bits);
  if (!bits) return std::nullopt;
  unsigned width = form.opcode == "setp"                         ? 1
                   : form.mode == "wide" && form.opcode == "mul" ? 2 * form.width
                                                                 : form.width;
  ThreadValue out{{}, *bits & mask_of(width)};
  if (a.variable.empty() && b.variable.empty()) return out;
  if (form.opcode == "add" && (a.variable.empty() || b.variable.empty())) {
    out.variable = a.variable.empty() ? b.variable : a.variable;
    return out;
  }
  if (form.opcode == "sub" && a.variable == b.variable) return out;
  if (form.opcode == "sub" && b.variable.empty()) {
    out.variable = a.variable;
    return out;
  }
  return std::nullopt;
}

}  // namespace

Threads::Threads(const Flow& flow) : flow_(flow), count_(required_threads(flow.function())) {}

std::optional<ThreadValues> Threads::value(const Operand& operand, Index index, unsigned depth) {
  if (count_ == 0 || depth > depth_max) return std::nullopt;
  if (operand.kind == Operand::Kind::integer)
    return ThreadValues(count_, ThreadValue{{}, operand.bits});
  if (operand.kind != Operand::Kind::name) return std::nullopt;
  if (operand.text == "%tid.x") {
    ThreadValues out(count_);
    for (std::uint32_t thread = 0; thread < count_; ++thread) out[thread].bits = thread;
    return out;
  }
  if (operand.text == "%ntid.x") return ThreadValues(count_, ThreadValue{{}, count_});
  std::string_view name = operand.parts.empty() ? operand.text : operand.parts[0].text;
  auto id = flow_.find(index, name);
  if (id && operand.parts.empty()) {
    auto maker = flow_.reaching(*id, index);
    return maker ? made_by(*maker, *id, depth + 1) : std::nullopt;
  }
  // An address of a variable; other special registers are not known.
  if (id || name.starts_with('%')) return std::nullopt;
  return ThreadValues(count_, ThreadValue{name, static_cast<std::uint64_t>(operand.offset)});
}

std::optional<ThreadValues> Threads::made_by(Index maker, RegisterId, unsigned depth) {
  auto known = known_.find(maker);
  if (known != known_.end()) return known->second;
  known_[maker] = std::nullopt;  // A value that depends on itself has none.
  const Instruction& made = flow_.at(maker);
  Form form = form_of(made);
  if (made.guard || form.width == 0 || made.operands.empty() ||
      made.operands[0].kind != Operand::Kind::name)
    return std::nullopt;
  std::optional<ThreadValues> out;
  if (made.opcode == "mov" && made.operands.size() == 2) {
    out = value(made.operands[1], maker, depth);
  } else if (made.operands.size() == 3) {
    auto a = value(made.operands[1], maker, depth), b = value(made.operands[2], maker, depth);
    if (!a || !b) return std::nullopt;
    out.emplace(count_);
    for (std::uint32_t thread = 0; thread < count_; ++thread) {
      auto one = combined(form, (*a)[thread], (*b)[thread]);
      if (!one) return std::nullopt;
      (*out)[thread] = *one;
    }
  }
  known_[maker] = out;
  return out;
}

std::optional<ThreadValues> Threads::of_register(RegisterId id, Index index) {
  auto maker = flow_.reaching(id, index);
  return maker ? made_by(*maker, id, 0) : std::nullopt;
}

std::optional<ThreadValues> Threads::of_operand(const Operand& operand, Index index) {
  return value(operand, index, 0);
}

std::optional<ThreadValues> Threads::of_address(const Operand& operand, Index index) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 1) return std::nullopt;
  auto base = value(operand.parts[0], index, 0);
  if (!base) return std::nullopt;
  for (ThreadValue& one : *base) one.bits += static_cast<std::uint64_t>(operand.offset);
  return base;
}

std::optional<std::vector<bool>> Threads::executes(Index index) {
  const Instruction& instruction = flow_.at(index);
  if (!instruction.guard) return std::vector<bool>(count_, true);
  auto id = flow_.find(index, instruction.guard->predicate);
  auto values = id ? of_register(*id, index) : std::nullopt;
  if (!values) return std::nullopt;
  std::vector<bool> out;
  for (const ThreadValue& one : *values)
    out.push_back((one.bits & 1) != static_cast<std::uint64_t>(instruction.guard->negated));
  return out;
}

}  // namespace lathe::planner
