// Loads, stores, atomics and asynchronous copies of one thread, in each space.

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 128;
constexpr unsigned room = 32;  // Bytes of a thread.

std::string random_bytes(std::size_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(philox64(seed, 2, i) >> 11);
  return bytes;
}

unsigned vector_count(const Instance& instance) {
  return instance.has("v2") ? 2 : instance.has("v4") ? 4 : instance.has("v8") ? 8 : 1;
}

enum class Place : std::uint8_t { global, shared, local, constant, other };
Place place_of(const Instance& instance) {
  if (instance.has("shared") || instance.has("shared::cta") || instance.has("shared::cluster"))
    return Place::shared;
  if (instance.has("local")) return Place::local;
  if (instance.has("const")) return Place::constant;
  if (!instance.word_with("param").empty()) return Place::other;
  return Place::global;
}

std::string joined(const std::vector<std::string>& names, std::string_view vector_word) {
  if (names.size() == 1 && vector_word.empty()) return names[0];
  std::string text = "{";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + name;
  return text + "}";
}

/// A shared room of 32 bytes a thread: a register with its address.
std::string shared_room(Writer& w) {
  std::string at = w.declare(Type::b32), base = w.declare(Type::b32);
  w.variable(".shared .align 128 .b8 rooms[" + std::to_string(room * threads) + "];");
  w.line("mov.u32 " + base + ", rooms;");
  w.line("mad.lo.u32 " + at + ", %t, " + std::to_string(room) + ", " + base + ";");
  return at;
}

std::string local_room(Writer& w) {
  std::string at = w.declare(Type::b64);
  w.variable(".local .align 32 .b8 own[32];");
  w.line("mov.u64 " + at + ", own;");
  return at;
}

/// Copies a thread's 32 bytes between two addresses.
void copy_room(Writer& w, const std::string& to_space, const std::string& to,
               const std::string& from_space, const std::string& from) {
  for (unsigned half = 0; half < 2; ++half) {
    std::vector<std::string> words;
    for (unsigned i = 0; i < 4; ++i) words.push_back(w.declare(Type::b32));
    std::string at = "+" + std::to_string(16 * half) + "]";
    w.line("ld." + from_space + ".v4.b32 " + joined(words, "v4") + ", [" + from + at + ";");
    w.line("st." + to_space + ".v4.b32 [" + to + at + ", " + joined(words, "v4") + ";");
  }
}

std::string policy(Writer& w, const Instance& instance) {
  if (!instance.has("L2::cache_hint")) return "";
  std::string name = w.declare(Type::b64);
  w.line("createpolicy.fractional.L2::evict_last.b64 " + name + ", 1.0;");
  return ", " + name;
}

/// Registers narrower than 32 bits would hide how a value is extended.
Type register_of(Type type) {
  if (is_integer(type) && width_of(type) < 32) return Type::b32;
  return type;
}

std::string constant_table(const std::string& bytes) {
  std::string text = ".const .align 32 .b8 table[" + std::to_string(bytes.size()) + "] = {";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(static_cast<unsigned char>(bytes[i]));
  return text + "};";
}

std::vector<Kernel> loads(const Instance& instance) {
  Place place = place_of(instance);
  // Vectors of eight are of sm_100; what the assembler makes of them before is not the manual's.
  if (place == Place::other || instance.has("v8")) return {};
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  std::string at = w.input_area(room, random_bytes(room * threads, 1));
  if (place == Place::shared) {
    std::string mine = shared_room(w);
    copy_room(w, "shared", mine, "global", at);
    at = mine;
  } else if (place == Place::local) {
    std::string mine = local_room(w);
    copy_room(w, "local", mine, "global", at);
    at = mine;
  } else if (place == Place::constant) {
    w.module_variable(constant_table(random_bytes(256, 9)));
    std::string offset = w.declare(Type::b32), base = w.declare(Type::b64);
    at = w.declare(Type::b64);
    w.line("and.b32 " + offset + ", %t, 7;");
    w.line("mul.wide.u32 " + at + ", " + offset + ", 32;");
    w.line("mov.u64 " + base + ", table;");
    w.line("add.s64 " + at + ", " + at + ", " + base + ";");
  }
  Type held = register_of(instance.type);
  std::vector<std::string> names;
  for (unsigned i = 0; i < vector_count(instance); ++i) names.push_back(w.declare(held));
  std::string hint = policy(w, instance);
  w.line(instance.mnemonic() + " " + joined(names, names.size() > 1 ? "v" : "") + ", [" + at + "]" +
         hint + ";");
  for (const std::string& name : names) w.store(name, held);
  return {w.finish(11, threads)};
}

std::vector<Kernel> stores(const Instance& instance) {
  Place place = place_of(instance);
  if (place == Place::other || place == Place::constant || instance.has("v8")) return {};
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  std::string result = w.output_area(room), at = result;
  std::string blank = w.input_area(room, random_bytes(room * threads, 3));
  if (place == Place::shared) {
    at = shared_room(w);
    copy_room(w, "shared", at, "global", blank);
  } else if (place == Place::local) {
    at = local_room(w);
    copy_room(w, "local", at, "global", blank);
  }
  std::vector<std::string> names;
  for (unsigned i = 0; i < vector_count(instance); ++i) names.push_back(w.load(instance.type));
  std::string hint = policy(w, instance);
  w.line(instance.mnemonic() + " [" + at + "], " + joined(names, names.size() > 1 ? "v" : "") +
         hint + ";");
  if (place == Place::shared) copy_room(w, "global", result, "shared", at);
  if (place == Place::local) copy_room(w, "global", result, "local", at);
  return {w.finish(12, threads)};
}

/// Each thread on its own place, which an ordinary store has filled.
std::vector<Kernel> atomics(const Instance& instance) {
  bool gives = instance.opcode() == "atom";
  if (instance.has("async")) return {};
  unsigned count = vector_count(instance), bytes = cell_bytes(instance.type);
  Place place = place_of(instance);
  if (place != Place::global && place != Place::shared) return {};
  Writer w(instance.mnemonic(), instance.mnemonic(), 2, threads);
  std::string result = w.output_area(room), at = result;
  if (place == Place::shared) {
    at = shared_room(w);
    std::string blank = w.input_area(room, random_bytes(room * threads * 2, 3));
    copy_room(w, "shared", at, "global", blank);
  }
  std::string space = place == Place::shared ? "shared" : "global";
  std::vector<std::string> old, operand, swap, before;
  bool compares = instance.has("cas");
  for (unsigned i = 0; i < count; ++i) {
    before.push_back(w.load(instance.type));
    operand.push_back(w.load(instance.type));
    if (compares) swap.push_back(w.load(instance.type));
    old.push_back(w.declare(instance.type));
    std::string where = "[" + at + "+" + std::to_string(i * bytes) + "]";
    if (bytes == 16) {
      std::string low = w.declare(Type::b64), high = w.declare(Type::b64);
      w.line("mov.b128 {" + low + ", " + high + "}, " + before[i] + ";");
      w.line("st." + space + ".v2.b64 " + where + ", {" + low + ", " + high + "};");
    } else {
      w.line("st." + space + ".b" + std::to_string(8 * bytes) + " " + where + ", " + before[i] +
             ";");
    }
  }
  std::string hint = policy(w, instance), vec = count > 1 ? "v" : "";
  std::string text = instance.mnemonic() + " ";
  if (gives) text += joined(old, vec) + ", ";
  text += "[" + at + "], " + joined(operand, vec);
  if (compares) text += ", " + joined(swap, vec);
  w.line(text + hint + ";");
  if (gives)
    for (const std::string& name : old) w.store(name, instance.type);
  if (place == Place::shared) copy_room(w, "global", result, "shared", at);
  return {w.finish(13, w.count())};
}

std::vector<Kernel> copies(const Instance& instance) {
  std::vector<Kernel> all;
  if (instance.has("mbarrier") || instance.has("bulk")) return {};
  for (unsigned bytes : {4u, 8u, 16u})
    for (std::string_view extra : {"", "size", "ignore"}) {
      if (instance.has("cg") && bytes != 16) continue;
      std::string label = " " + std::to_string(bytes) + " " + std::string(extra);
      Writer w(instance.mnemonic() + label, instance.mnemonic(), 1, threads);
      std::string from = w.input_area(room, random_bytes(room * threads, 1));
      std::string blank = w.input_area(room, random_bytes(room * threads, 3));
      std::string result = w.output_area(room), at = shared_room(w);
      copy_room(w, "shared", at, "global", blank);
      std::string more;
      if (extra == "size") {
        std::vector<std::uint64_t> sizes(threads);
        for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % (bytes + 1);
        more = ", " + w.load_given(Type::b32, sizes);
      } else if (extra == "ignore") {
        more = ", " + w.load(Type::pred);
      }
      w.line(instance.mnemonic() + " [" + at + "], [" + from + "], " + std::to_string(bytes) +
             more + policy(w, instance) + ";");
      w.line("cp.async.commit_group;");
      w.line("cp.async.wait_group 0;");
      copy_room(w, "global", result, "shared", at);
      all.push_back(w.finish(14, threads));
    }
  return all;
}

std::vector<Kernel> hints(const Instance& instance) {
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  std::string from = w.input_area(room, random_bytes(room * threads, 1));
  std::string result = w.output_area(room), text = instance.mnemonic() + " [" + from + "]";
  if (instance.opcode() == "applypriority") text += ", 128";
  w.line(text + ";");
  copy_room(w, "global", result, "global", from);
  return {w.finish(15, threads)};
}

}  // namespace

std::vector<Kernel> memory_kernels(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  if (opcode == "ld" || opcode == "ldu") return loads(instance);
  if (opcode == "st")
    return instance.has("async") || instance.has("bulk") ? std::vector<Kernel>{} : stores(instance);
  if (opcode == "atom" || opcode == "red") return atomics(instance);
  if (opcode == "cp" && (instance.has("ca") || instance.has("cg"))) return copies(instance);
  if (opcode == "prefetch" && !instance.has("tensormap") && place_of(instance) == Place::global)
    return hints(instance);
  if (opcode == "prefetchu") return hints(instance);
  return {};
}

}  // namespace lathe::ptx::witness
