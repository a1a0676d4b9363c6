#pragma once

// A module around one instruction of the list of forms: each operand becomes registers, an address
// or a number of the kind that the list names. The list leaves out numbers that have one value,
// braces around one register, and that tensor memory has addresses of 32 bits.

#include <map>
#include <string>
#include <vector>

#include "ptx/isa.h"

namespace lathe::ptx {

struct ListedOperand {
  std::string name, type;  // "a", "f16x2"
  unsigned lanes = 1;      // Of a vector.
  bool written = false;
};

struct ListedForm {
  std::string form, family;  // "add.rn.f32", "sm_100a" or "-"
  std::vector<ListedOperand> operands;
  bool has(const std::string& word) const {
    return (form + ".").find("." + word + ".") != std::string::npos;
  }
};

inline ListedOperand listed_operand(const std::string& text, const ListedForm& form) {
  ListedOperand operand;
  std::size_t colon = text.find(':'), equals = text.find('=');
  operand.name = text.substr(0, colon);
  operand.written = equals != std::string::npos;
  operand.type = text.substr(colon + 1, equals == std::string::npos ? equals : equals - colon - 1);
  std::size_t x = operand.type.rfind('x');
  bool vector = form.has("v2") || form.has("v4") || form.has("v8");
  bool plain = !type_named(operand.type) || vector || form.form.starts_with("mov.");
  if (x != std::string::npos && plain && operand.type[x + 1] >= '1' && operand.type[x + 1] <= '9') {
    operand.lanes = static_cast<unsigned>(std::stoul(operand.type.substr(x + 1)));
    operand.type.resize(x);
  }
  return operand;
}

/// A line of the list: form, family, operands.
inline ListedForm listed_form(const std::string& line) {
  ListedForm form;
  std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
  form.form = line.substr(0, first);
  form.family = line.substr(first + 1, second - first - 1);
  std::string rest = second == std::string::npos ? "" : line.substr(second + 1);
  while (!rest.empty()) {
    std::size_t end = rest.find(' ');
    if (end != 0) form.operands.push_back(listed_operand(rest.substr(0, end), form));
    if (end == std::string::npos) break;
    rest.erase(0, end + 1);
  }
  return form;
}

/// The instruction as text, with the registers that it needs.
class FormInstance {
 public:
  explicit FormInstance(const ListedForm& form) : form_(form) {
    std::vector<std::string> written;
    std::string opcode = form.form.substr(0, form.form.find('.'));
    bool no_state = opcode == "mbarrier" && form.form.find("arrive") != std::string::npos &&
                    !form.operands[0].written;
    if (no_state) written.push_back("_");
    for (std::size_t i = 0; i < form.operands.size(); ++i) {
      const ListedOperand& operand = form.operands[i];
      std::string text = operand_text(operand);
      if (operand.name == "coords") {  // They stand inside the address before them.
        std::string& map = written.back();
        map = map.substr(0, map.size() - 1) + ", " + vector_of("b32", operand.lanes) + "]";
        continue;
      }
      bool second = operand.type == "pred" && operand.written && i == 1;
      if (second && !written.empty())
        written[0] += "|" + text;
      else
        written.push_back(text);
    }
    bool of_map = form.has("tensormap::generic") && !form.operands.empty();
    if (opcode == "applypriority" || opcode == "discard" || of_map) written.push_back("128");
    if (opcode == "st" && form.has("bulk")) written.push_back("0");
    text_ = form.form;
    for (std::size_t i = 0; i < written.size(); ++i) text_ += (i == 0 ? " " : ", ") + written[i];
  }

  std::string module(const std::string& target, const std::string& version) const {
    std::string text =
        ".version " + version + "\n.target " + target +
        "\n.address_size 64\n.visible .entry test()\n{\n.reg .b64 %a<4>;\n.reg .b32 %t<4>;\n";
    for (const auto& [type, count] : registers_)
      text += ".reg ." + type + " %" + type + "_<" + std::to_string(count) + ">;\n";
    return text + text_ + ";\nret;\n}\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string register_of(const std::string& type) {
    return "%" + type + "_" + std::to_string(registers_[type]++);
  }
  std::string vector_of(const std::string& type, unsigned lanes) {
    std::string text;
    for (unsigned i = 0; i < lanes; ++i) text += (i == 0 ? "" : ", ") + register_of(type);
    return "{" + text + "}";
  }
  /// Parts of matrices have braces where they are one register too.
  bool in_braces(const ListedOperand& operand) const {
    for (const char* opcode : {"ldmatrix.", "stmatrix.", "tcgen05.ld.", "tcgen05.st."})
      if (form_.form.starts_with(opcode)) return operand.name == "r";
    return form_.form.starts_with("mma.") && (operand.name == "a" || operand.name == "b" ||
                                              operand.name == "c" || operand.name == "d");
  }
  std::string operand_text(const ListedOperand& operand) {
    if (operand.type == "addr") return form_.form.starts_with("tcgen05") ? "[%t0]" : "[%a0]";
    if (operand.name == "cp_size") return "16";
    if (operand.name == "scale_d") return register_of("pred");
    if (operand.name == "scale_a" || operand.name == "scale_b") return "1";
    if (operand.type == "imm") return operand.name == "nreg" ? "64" : "0";
    if (operand.name == "fraction") return "0f3F000000";
    std::string type = operand.type;
    if (type == "ptr" || type == "b64i") type = "b64";
    if (type == "b32i") type = "b32";
    std::optional<Type> known = type_named(type);
    if (known && *known != Type::pred) type = "b" + std::to_string(width_of(*known));
    if (operand.lanes > 1 || in_braces(operand)) return vector_of(type, operand.lanes);
    return register_of(type);
  }

  const ListedForm& form_;
  std::string text_;
  std::map<std::string, unsigned> registers_;
};

}  // namespace lathe::ptx
