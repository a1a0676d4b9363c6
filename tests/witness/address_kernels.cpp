// Instructions on addresses, within one block.

#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 64;

/// A kernel with a shared room of 16 bytes a thread and a barrier object.
struct Room {
  Writer w;
  std::string at, wide, generic, gate, first;
  explicit Room(const Instance& instance)
      : w(instance.mnemonic(), instance.mnemonic(), 1, threads) {
    at = w.declare(Type::b32), gate = w.declare(Type::b32), first = w.declare(Type::pred);
    wide = w.declare(Type::b64), generic = w.declare(Type::b64);
    w.variable(".shared .align 16 .b8 room[1024];");
    w.variable(".shared .align 8 .b8 gates[8];");
    w.line("mov.u32 " + at + ", room;");
    w.line("mov.u32 " + gate + ", gates;");
    w.line("mad.lo.u32 " + at + ", %t, 16, " + at + ";");
    w.line("cvt.u64.u32 " + wide + ", " + at + ";");
    w.line("cvta.shared.u64 " + generic + ", " + wide + ";");
    w.line("setp.eq.u32 " + first + ", %t, 0;");
  }
};

std::vector<Kernel> spaces_of_addresses(const Instance& instance) {
  Room room(instance);
  Writer& w = room.w;
  w.variable(".local .align 16 .b8 own[16];");
  std::string local = w.declare(Type::b64);
  w.line("mov.u64 " + local + ", own;");
  w.line("cvta.local.u64 " + local + ", " + local + ";");
  for (const std::string& address : {std::string("%in"), room.generic, local}) {
    std::string p = w.declare(Type::pred);
    w.line(instance.mnemonic() + " " + p + ", " + address + ";");
    w.store(p, Type::pred);
  }
  return {w.finish(21, threads)};
}

/// There and back: what is stored through the generic address is where the space has it.
std::vector<Kernel> conversions(const Instance& instance) {
  std::string space(instance.has("shared") ? "shared" : instance.has("local") ? "local" : "");
  if (instance.has("global")) space = "global";
  if (space.empty() || instance.type != Type::u64) return {};
  Room room(instance);
  Writer& w = room.w;
  std::string value = w.load(Type::b32), got = w.declare(Type::b32), begin = w.declare(Type::b64);
  std::string generic = w.declare(Type::b64), back = w.declare(Type::b64);
  if (space == "shared") {
    w.line("mov.u64 " + begin + ", " + room.wide + ";");
  } else if (space == "local") {
    w.variable(".local .align 16 .b8 own[16];");
    w.line("mov.u64 " + begin + ", own;");
  } else {
    w.line("mov.u64 " + begin + ", " + w.output_area(16) + ";");
  }
  bool to = instance.has("to");
  w.line((to ? "cvta." + space + ".u64 " : instance.mnemonic() + " ") + generic + ", " + begin +
         ";");
  w.line((to ? instance.mnemonic() + " " : "cvta.to." + space + ".u64 ") + back + ", " + generic +
         ";");
  w.line("st.b32 [" + generic + "], " + value + ";");
  w.line("ld." + space + ".b32 " + got + ", [" + back + "];");
  w.line("sub.s64 " + back + ", " + back + ", " + begin + ";");
  w.store(got, Type::b32);
  w.store(back, Type::b64);
  return {w.finish(22, threads)};
}

/// In a cluster of one block every address is the block's own.
std::vector<Kernel> cluster_addresses(const Instance& instance) {
  bool shared = instance.has("shared::cluster"), wide = instance.type == Type::u64;
  Room room(instance);
  Writer& w = room.w;
  std::string address = shared ? (wide ? room.wide : room.at) : room.generic;
  if (!shared && !wide) return {};
  std::string d = w.declare(instance.opcode() == "mapa" ? instance.type : Type::u32);
  if (instance.opcode() == "getctarank") {
    w.line(instance.mnemonic() + " " + d + ", " + address + ";");
    w.store(d, Type::u32);
    return {w.finish(23, threads)};
  }
  std::string value = w.load(Type::b32), got = w.declare(Type::b32);
  w.line(instance.mnemonic() + " " + d + ", " + address + ", 0;");
  w.line("st.shared.b32 [" + room.at + "], " + value + ";");
  w.line(std::string("ld") + (shared ? ".shared::cluster" : "") + ".b32 " + got + ", [" + d + "];");
  w.store(got, Type::b32);
  return {w.finish(23, threads)};
}

}  // namespace

std::vector<Kernel> address_kernels(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  if (opcode == "isspacep" && !instance.word_with("param").empty()) return {};
  if (opcode == "isspacep") return spaces_of_addresses(instance);
  if (opcode == "cvta") return conversions(instance);
  if (opcode == "mapa" || opcode == "getctarank") return cluster_addresses(instance);
  return {};
}

}  // namespace lathe::ptx::witness
