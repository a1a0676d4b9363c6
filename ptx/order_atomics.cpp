#include "ptx/order_atomics.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "ptx/program.h"

namespace lathe::ptx {
namespace {

constexpr std::array<std::string_view, 8> commutative{"add", "min", "max", "and",
                                                      "or",  "xor", "inc", "dec"};

bool names(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
}

/// Where `name` stands in a text as a whole word, from `from` on.
std::size_t word_at(const std::string& text, const std::string& name, std::size_t from) {
  for (std::size_t at = text.find(name, from); at != std::string::npos;
       at = text.find(name, at + 1)) {
    std::size_t end = at + name.size();
    if ((at == 0 || !names(text[at - 1])) && (end == text.size() || !names(text[end]))) return at;
  }
  return std::string::npos;
}

/// Whether another instruction than `own` names the register other than as what it sets.
bool is_read(const Program& program, std::size_t own, const std::string& name) {
  for (std::size_t i = 0; i < program.texts.size(); ++i) {
    const std::string& text = program.texts[i];
    std::size_t opcode =
        text[0] == '@' ? text.find_first_not_of(" \t", text.find_first_of(" \t")) : 0;
    std::size_t first = text.find_first_of(" \t", opcode);
    if (first == std::string::npos) continue;
    std::size_t begin = text.find_first_not_of(" \t", first);
    bool sets = begin != std::string::npos && text.compare(begin, name.size(), name) == 0 &&
                text.compare(opcode, 3, "bra") != 0;
    if (i == own || sets) begin += name.size();
    if (opcode != 0 && word_at(text.substr(0, opcode), name, 0) != std::string::npos) return true;
    if (begin < text.size() && word_at(text, name, begin) != std::string::npos) return true;
  }
  return false;
}

std::string function_of(const Program& program, std::size_t instruction) {
  const std::string& text = program.texts[instruction];
  // Arrivals at an mbarrier are what it is for.
  if (text.find("mbarrier.") < text.find_first_of("[{")) return "mbarrier";
  std::size_t begin = text.find("atom."), red = std::min(text.find("red."), text.find("reduce."));
  bool reduces = red < begin;
  if (reduces) begin = red;
  if (begin == std::string::npos) return "";
  std::size_t end = text.find_first_of(" \t", begin);
  std::istringstream parts(text.substr(begin, end - begin));
  std::string function, last;
  for (std::string part; std::getline(parts, part, '.'); last = part)
    if (std::find(commutative.begin(), commutative.end(), part) != commutative.end())
      function = part;
  if (function.empty()) return "";
  std::size_t name = text.find_first_not_of(" \t", end);
  std::string result = text.substr(name, text.find_first_of(", \t[", name) - name);
  if (!reduces && result != "_" && is_read(program, instruction, result)) return "";
  return function + "." + last;
}

}  // namespace

OrderAtomics::OrderAtomics(const Program& program) {
  functions_.resize(program.operations.size());
  for (std::size_t i = 0; i < functions_.size(); ++i)
    if (program.operations[i].instruction < program.texts.size())
      functions_[i] = function_of(program, program.operations[i].instruction);
}

bool OrderAtomics::commute(std::uint32_t first, std::uint32_t second) const {
  if (functions_.empty()) return true;
  if (first >= functions_.size() || second >= functions_.size()) return false;
  return !functions_[first].empty() && functions_[first] == functions_[second];
}

}  // namespace lathe::ptx
