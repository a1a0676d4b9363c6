// How the operands of instructions are written that few kernels have.

#include "tests/witness/written_parts.h"

namespace lathe::ptx::witness {
namespace {

std::optional<Texts> multimem(const Instance& instance, Draw& draw) {
  std::string value = several(instance.type, vector_count(instance), draw);
  std::string at = global_address(draw);
  return instance.has("ld_reduce") ? Texts{value, at} : Texts{at, value};
}

std::optional<Texts> tensormap(const Instance& instance, Draw& draw) {
  bool shared = instance.has("shared::cta");
  std::string at = shared ? shared_address(draw) : global_address(draw);
  if (instance.has("cp_fenceproxy"))
    return Texts{global_address(draw), shared_address(draw), "128"};
  // Fields that choose one of few take a number, the others a register too.
  bool choice = instance.has("elemtype") || instance.has("interleave_layout") ||
                instance.has("swizzle_mode") || instance.has("swizzle_atomicity") ||
                instance.has("fill_mode");
  std::string value = choice ? "1" : reg(instance.has("b64") ? Type::b64 : Type::b32, draw);
  if (instance.row->signature.operands_max == 3) return Texts{at, "0", value};
  return Texts{at, value};
}

std::optional<Texts> launch_control(const Instance& instance, Draw& draw) {
  if (instance.has("try_cancel")) return Texts{shared_address(draw), shared_address(draw)};
  std::string answer = reg(Type::b128, draw);
  if (instance.has("is_canceled")) return Texts{reg(Type::pred, draw), answer};
  return Texts{several(Type::b32, vector_count(instance), draw), answer};
}

std::optional<Texts> stack(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  if (opcode != "alloca") return Texts{reg(instance.type, draw)};
  Texts texts{reg(instance.type, draw), reg(instance.type, draw)};
  if (draw.one_in(2)) texts.push_back("16");
  return texts;
}

}  // namespace

std::optional<Texts> rare_texts(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  if (opcode == "multimem") return multimem(instance, draw);
  if (opcode == "tensormap") return tensormap(instance, draw);
  if (opcode == "clusterlaunchcontrol") return launch_control(instance, draw);
  if (opcode == "alloca" || opcode == "stacksave" || opcode == "stackrestore")
    return stack(instance, draw);
  if (opcode == "call") return Texts{"nothing"};
  if (opcode == "brx") return Texts{reg(Type::b32, draw), "places"};
  return std::nullopt;
}

}  // namespace lathe::ptx::witness
