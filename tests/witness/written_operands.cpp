// How the operands of each row are written on a line by itself.

#include "tests/witness/kernel.h"
#include "tests/witness/written_parts.h"

namespace lathe::ptx::witness {

std::string reg(Type type, Draw& draw) {
  std::string number = std::to_string(1 + draw.below(12));
  if (type == Type::pred) return "%p" + std::to_string(1 + draw.below(6));
  if (width_of(type) == 8 && !is_integer(type)) return "%b" + number;
  switch (cell_bytes(type)) {
    case 2:
      return "%h" + number;
    case 4:
      return "%r" + number;
    case 8:
      return "%l" + number;
    default:
      return "%q" + std::to_string(1 + draw.below(3));
  }
}

std::string vector_of(Type type, std::size_t count, Draw& draw) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + reg(type, draw);
  return text + "}";
}

std::string several(Type type, std::size_t count, Draw& draw) {
  return count == 1 ? reg(type, draw) : vector_of(type, count, draw);
}

std::size_t vector_count(const Instance& instance) {
  return instance.has("v2") ? 2 : instance.has("v4") ? 4 : instance.has("v8") ? 8 : 1;
}

std::string shared_address(Draw& draw) { return "[" + reg(Type::b32, draw) + "]"; }
std::string global_address(Draw& draw) { return "[" + reg(Type::b64, draw) + "]"; }

namespace {

std::string address(const Instance& instance, Draw& draw) {
  bool shared = !instance.word_with("shared").empty();
  if (!instance.word_with("param").empty()) return "[in+8]";
  std::string offset = draw.one_in(3) ? "+16" : "";
  return "[" +
         std::string(shared ? draw.one_in(4) ? "room" : reg(Type::b32, draw)
                            : reg(Type::b64, draw)) +
         offset + "]";
}

void add_policy(Texts& texts, const Instance& instance, Draw& draw) {
  if (instance.has("L2::cache_hint")) texts.push_back(reg(Type::b64, draw));
}

/// The parts of a register instruction as texts.
Texts of_parts(const Operands& operands, Draw& draw) {
  Texts texts;
  for (const Part& part : operands) {
    if (part.kind == Part::Kind::text) {
      texts.push_back(part.text);
      continue;
    }
    std::string text = several(part.type, part.count, draw);
    if (part.with_predicate && draw.one_in(2)) text += "|" + reg(Type::pred, draw);
    texts.push_back(text);
  }
  return texts;
}

std::optional<Texts> memory(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  std::size_t count = vector_count(instance);
  Type type = instance.type;
  Texts texts;
  if (opcode == "ld" || opcode == "ldu") {
    texts = {several(type, count, draw), address(instance, draw)};
    add_policy(texts, instance, draw);
  } else if (opcode == "st" && instance.has("bulk")) {
    texts = {shared_address(draw), draw.one_in(2) ? "64" : reg(Type::b64, draw), "0"};
  } else if (opcode == "st") {
    texts = {address(instance, draw), several(type, count, draw)};
    if (instance.has("mbarrier::complete_tx::bytes")) texts.push_back(shared_address(draw));
    add_policy(texts, instance, draw);
  } else if (opcode == "atom" || opcode == "red") {
    if (opcode == "atom") texts.push_back(several(type, count, draw));
    texts.push_back(address(instance, draw));
    texts.push_back(several(type, count, draw));
    if (instance.has("cas")) texts.push_back(several(type, count, draw));
    if (instance.has("mbarrier::complete_tx::bytes")) texts.push_back(shared_address(draw));
    add_policy(texts, instance, draw);
  } else if (opcode == "prefetch" || opcode == "prefetchu") {
    texts = {address(instance, draw)};
  } else if (opcode == "applypriority" || opcode == "discard") {
    texts = {address(instance, draw), "128"};
  } else if (opcode == "createpolicy") {
    texts = {reg(Type::b64, draw)};
    if (instance.has("range")) texts.insert(texts.end(), {global_address(draw), "64", "128"});
    if (instance.has("cvt")) texts.push_back(reg(Type::b64, draw));
    if (instance.has("fractional") && draw.one_in(2)) texts.push_back("1.0");
  } else {
    return std::nullopt;
  }
  return texts;
}

std::optional<Texts> copy(const Instance& instance, Draw& draw) {
  Texts texts;
  if (instance.has("commit_group") || instance.has("wait_all")) return texts;
  if (instance.has("wait_group")) return Texts{std::to_string(draw.below(4))};
  if (instance.has("mbarrier")) return Texts{shared_address(draw)};
  if (!instance.has("bulk")) {
    texts = {shared_address(draw), global_address(draw),
             instance.has("cg") || draw.one_in(2) ? "16" : "4"};
    if (draw.one_in(3)) texts.push_back(reg(Type::b32, draw));
    add_policy(texts, instance, draw);
    return texts;
  }
  std::string dim =
      instance.has("tensor") ? std::string(1, instance.word_with("1").empty() ? ' ' : '1') : "";
  std::size_t dims = 0;
  for (const char* word : {"1d", "2d", "3d", "4d", "5d"})
    if (instance.has(word)) dims = static_cast<std::size_t>(word[0] - '0');
  std::size_t coordinates =
      instance.has("tile::gather4") || instance.has("tile::scatter4") ? 5 : dims;
  std::string tensor =
      "[" + reg(Type::b64, draw) + ", " + vector_of(Type::b32, coordinates, draw) + "]";
  bool completes = instance.has("mbarrier::complete_tx::bytes");
  bool to_shared = completes;
  std::string bytes = draw.one_in(2) ? "128" : reg(Type::b32, draw);
  if (instance.has("prefetch"))
    texts = instance.has("tensor") ? Texts{tensor} : Texts{global_address(draw), bytes};
  else if (instance.has("tensor"))
    texts = to_shared ? Texts{shared_address(draw), tensor, shared_address(draw)}
                      : Texts{tensor, shared_address(draw)};
  else if (to_shared)
    texts = {shared_address(draw),
             instance.has("global") ? global_address(draw) : shared_address(draw), bytes,
             shared_address(draw)};
  else
    texts = {global_address(draw), shared_address(draw), bytes};
  bool loads = completes || instance.has("prefetch");
  if (instance.has("im2col") && dims >= 3 && loads)
    texts.push_back(vector_of(Type::b16, dims - 2, draw));
  if (!instance.word_with("im2col::w").empty() && loads)
    texts.push_back(vector_of(Type::b16, 2, draw));
  if (instance.has("multicast::cluster")) texts.push_back(reg(Type::b16, draw));
  add_policy(texts, instance, draw);
  return texts;
}

std::optional<Texts> barrier_object(const Instance& instance, Draw& draw) {
  std::string at = shared_address(draw), count = draw.one_in(2) ? "1" : reg(Type::b32, draw);
  bool remote = instance.has("shared::cluster");
  if (instance.has("init")) return Texts{at, count};
  if (instance.has("inval")) return Texts{at};
  if (instance.has("pending_count")) return Texts{reg(Type::b32, draw), reg(Type::b64, draw)};
  if (instance.has("test_wait") || instance.has("try_wait")) {
    Texts texts{reg(Type::pred, draw), at,
                instance.has("parity") ? reg(Type::b32, draw) : reg(Type::b64, draw)};
    if (instance.has("try_wait") && draw.one_in(3)) texts.push_back(reg(Type::b32, draw));
    return texts;
  }
  if (!instance.has("arrive") && !instance.has("arrive_drop")) return Texts{at, count};
  Texts texts{remote ? "_" : reg(Type::b64, draw), at};
  if (instance.has("expect_tx") || instance.has("noComplete") || draw.one_in(2))
    texts.push_back(count);
  return texts;
}

std::optional<Texts> warp(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  std::string mask = draw.one_in(2) ? "0xFFFFFFFF" : reg(Type::b32, draw);
  std::string word = reg(Type::b32, draw), p = reg(Type::pred, draw);
  if (opcode == "shfl") {
    Texts texts{word + (draw.one_in(2) ? "|" + p : ""), reg(Type::b32, draw), reg(Type::b32, draw),
                draw.one_in(2) ? "31" : reg(Type::b32, draw)};
    if (instance.has("sync")) texts.push_back(mask);
    return texts;
  }
  if (opcode == "vote") {
    Texts texts{instance.has("ballot") ? word : p, reg(Type::pred, draw)};
    if (instance.has("sync")) texts.push_back(mask);
    return texts;
  }
  if (opcode == "match")
    return Texts{word + (instance.has("all") && draw.one_in(2) ? "|" + p : ""),
                 reg(instance.type, draw), mask};
  if (opcode == "redux") return Texts{word, reg(Type::b32, draw), mask};
  if (opcode == "elect") return Texts{word + "|" + p, mask};
  if (opcode == "activemask") return Texts{word};
  if (opcode == "movmatrix") return Texts{word, reg(Type::b32, draw)};
  if (opcode == "nanosleep") return Texts{draw.one_in(2) ? word : "20"};
  if (opcode == "pmevent") return Texts{"3"};
  if (opcode == "setmaxnreg") return Texts{instance.has("inc") ? "232" : "40"};
  if (opcode == "bar" || opcode == "barrier") {
    if (instance.has("warp")) return Texts{mask};
    if (instance.has("cluster")) return Texts{};
    Texts texts;
    if (instance.has("red")) texts.push_back(instance.has("popc") ? word : p);
    texts.push_back(draw.one_in(2) ? "1" : reg(Type::b32, draw));
    if (instance.has("arrive") || draw.one_in(2)) texts.push_back("256");
    if (instance.has("red")) texts.push_back(reg(Type::pred, draw));
    return texts;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Texts> operand_texts(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  // A kernel's own parameters are read only.
  if (opcode == "st" && !instance.word_with("param").empty()) return std::nullopt;
  const Signature& s = instance.row->signature;
  if (opcode == "cp") return copy(instance, draw);
  if (opcode == "mbarrier") return barrier_object(instance, draw);
  if (opcode == "tcgen05") return tensor_texts(instance, draw);
  if (opcode == "mma" || opcode == "wmma" || opcode == "wgmma" || opcode == "ldmatrix" ||
      opcode == "stmatrix")
    return matrix_texts(instance, draw);
  if (auto texts = memory(instance, draw)) return texts;
  if (auto texts = warp(instance, draw)) return texts;
  if (opcode == "bra") return Texts{"end"};
  if (opcode == "cvta") return Texts{reg(instance.type, draw), reg(instance.type, draw)};
  if (opcode == "isspacep") return Texts{reg(Type::pred, draw), reg(Type::b64, draw)};
  if (opcode == "mapa")
    return Texts{reg(instance.type, draw), reg(instance.type, draw), reg(Type::b32, draw)};
  if (opcode == "getctarank") return Texts{reg(Type::b32, draw), reg(instance.type, draw)};
  if (opcode == "fence" && s.operands_max == 2) {
    if (instance.has("acquire")) return Texts{global_address(draw), "128"};
    return Texts{};
  }
  if (s.operands_max == 0) return Texts{};
  if (auto texts = rare_texts(instance, draw)) return texts;
  std::vector<Operands> known = register_operands(instance);
  if (instance.has("cc") || opcode == "addc" || opcode == "subc" || opcode == "madc") {
    known.emplace_back();
    for (std::size_t i = 0; i < s.operands_min; ++i) known[0].push_back(in(instance.type));
  }
  if (known.empty()) return std::nullopt;
  return of_parts(known[draw.below(known.size())], draw);
}

}  // namespace lathe::ptx::witness
