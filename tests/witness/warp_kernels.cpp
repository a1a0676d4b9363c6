// Instructions of a whole warp or block: carries, shuffles, votes, reductions, barriers, fences.

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 256, blocks = 4;

/// Truths that are all, none, one or some of a warp.
std::vector<std::uint64_t> truths(std::uint32_t count) {
  std::vector<std::uint64_t> list(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t warp = i / 32, lane = i % 32;
    std::uint64_t r = philox64(7, 1, i);
    list[i] = warp % 5 == 0   ? 1
              : warp % 5 == 1 ? 0
              : warp % 5 == 2 ? lane == warp % 32
              : warp % 5 == 3 ? lane != warp % 32
                              : r & 1;
  }
  return list;
}

/// Few different values a warp, one in every fourth.
std::vector<std::uint64_t> few(std::uint32_t count) {
  std::vector<std::uint64_t> list(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t warp = i / 32;
    std::uint64_t r = philox64(7, 2, warp % 4 == 0 ? warp : i * 4 + 1);
    list[i] = warp % 4 == 0 ? r : 0xFFFFFFFF00000000u | (r % 3);
  }
  return list;
}

/// `instruction` in all lanes of each warp, or in its first twenty.
struct Parts {
  std::vector<std::string> names;
  std::vector<Type> types;
};
void run(Writer& writer, const std::string& instruction, const Parts& results, bool partly) {
  std::string guard;
  if (partly) {
    std::string lane = writer.declare(Type::b32), some = writer.declare(Type::pred);
    writer.line("mov.u32 " + lane + ", %laneid;");
    writer.line("setp.lt.u32 " + some + ", " + lane + ", 20;");
    for (std::size_t i = 0; i < results.names.size(); ++i)
      writer.line(results.types[i] == Type::pred
                      ? "setp.ne.u32 " + results.names[i] + ", 0, 0;"
                      : "mov.b" + std::to_string(width_of(results.types[i])) + " " +
                            results.names[i] + ", 0;");
    guard = "@" + some + " ";
  }
  writer.line(guard + instruction + ";");
  for (std::size_t i = 0; i < results.names.size(); ++i)
    writer.store(results.names[i], results.types[i]);
}

std::vector<Kernel> votes(const Instance& instance) {
  std::vector<Kernel> all;
  for (bool partly : {false, true}) {
    Writer w(instance.mnemonic() + (partly ? " partly" : ""), instance.mnemonic(), blocks, threads);
    std::string p = w.load_given(Type::pred, truths(w.count()));
    Type type = instance.has("ballot") ? Type::b32 : Type::pred;
    Parts results{{w.declare(type)}, {type}};
    bool sync = instance.has("sync");
    run(w,
        instance.mnemonic() + " " + results.names[0] + ", " + p +
            (sync ? partly ? ", 0xFFFFF" : ", 0xFFFFFFFF" : ""),
        results, partly);
    all.push_back(w.finish(3, w.count()));
  }
  return all;
}

std::vector<Kernel> matches(const Instance& instance) {
  std::vector<Kernel> all;
  for (bool partly : {false, true}) {
    Writer w(instance.mnemonic() + (partly ? " partly" : ""), instance.mnemonic(), blocks, threads);
    std::string a = w.load_given(instance.type, few(w.count()));
    Parts results{{w.declare(Type::b32)}, {Type::b32}};
    std::string to = results.names[0];
    if (instance.has("all")) {
      results.names.push_back(w.declare(Type::pred));
      results.types.push_back(Type::pred);
      to += "|" + results.names[1];
    }
    run(w, instance.mnemonic() + " " + to + ", " + a + (partly ? ", 0xFFFFF" : ", 0xFFFFFFFF"),
        results, partly);
    all.push_back(w.finish(3, w.count()));
  }
  return all;
}

std::vector<Kernel> reductions(const Instance& instance) {
  std::vector<Kernel> all;
  for (bool partly : {false, true}) {
    Writer w(instance.mnemonic() + (partly ? " partly" : ""), instance.mnemonic(), blocks, threads);
    std::string a = w.load(instance.type);
    Parts results{{w.declare(instance.type)}, {instance.type}};
    run(w,
        instance.mnemonic() + " " + results.names[0] + ", " + a +
            (partly ? ", 0xFFFFF" : ", 0xFFFFFFFF"),
        results, partly);
    all.push_back(w.finish(3, w.count()));
  }
  return all;
}

std::vector<Kernel> shuffles(const Instance& instance) {
  Operands list{out(Type::b32), in(Type::b32), in(Type::u32, Use::lane),
                in(Type::u32, Use::segment)};
  if (instance.has("sync")) list.push_back(fixed("0xFFFFFFFF"));
  std::vector<Kernel> all{register_kernel(instance, list, threads, blocks, "alone")};
  list[0].with_predicate = true;
  all.push_back(register_kernel(instance, list, threads, blocks));
  list[3] = fixed("0x1F");
  all.push_back(register_kernel(instance, list, threads, blocks, "whole warp"));
  return all;
}

/// The carry in comes from an addition before, the carry out goes to one after.
std::vector<Kernel> carries(const Instance& instance) {
  Writer w(instance.mnemonic(), instance.mnemonic(), 2, threads);
  std::string_view opcode = instance.opcode();
  std::string type = "." + std::string(name_of(instance.type)) + " ";
  bool takes = opcode == "addc" || opcode == "subc" || opcode == "madc";
  bool subtracts = opcode.starts_with("sub");
  std::vector<std::string> sources;
  for (unsigned i = 0; i < (opcode.starts_with("mad") ? 3u : 2u); ++i)
    sources.push_back(w.load(instance.type));
  if (takes) {
    std::string p = w.load(instance.type), q = w.load(instance.type), x = w.declare(instance.type);
    w.line((subtracts ? "sub.cc" : "add.cc") + type + x + ", " + p + ", " + q + ";");
  }
  std::string d = w.declare(instance.type), text = instance.mnemonic() + " " + d;
  for (const std::string& source : sources) text += ", " + source;
  w.line(text + ";");
  w.store(d, instance.type);
  if (instance.has("cc")) {
    std::string after = w.declare(instance.type);
    w.line((subtracts ? "subc" : "addc") + type + after + ", 0, 0;");
    w.store(after, instance.type);
  }
  return {w.finish(2024, w.count())};
}

std::vector<Kernel> barrier_reductions(const Instance& instance) {
  std::vector<Kernel> all;
  for (bool counted : {false, true}) {
    Writer w(instance.mnemonic() + (counted ? " counted" : ""), instance.mnemonic(), 8, threads);
    std::vector<std::uint64_t> given(w.count());
    for (std::uint32_t i = 0; i < w.count(); ++i) {
      std::uint32_t block = i / threads;
      given[i] = block == 0   ? 0
                 : block == 1 ? 1
                 : block == 2 ? i % threads == 77
                              : philox64(1, 1, i) & 1;
    }
    std::string p = w.load_given(Type::pred, given);
    Type type = instance.has("popc") ? Type::b32 : Type::pred;
    std::string d = w.declare(type);
    w.line(instance.mnemonic() + " " + d + (counted ? ", 1, 256, " : ", 0, ") + p + ";");
    w.store(d, type);
    all.push_back(w.finish(3, w.count()));
  }
  return all;
}

/// Words pass from thread to thread through shared memory over the instruction.
Kernel exchange(const Instance& instance, const std::string& variant, const std::string& between) {
  Writer w(instance.mnemonic() + variant, instance.mnemonic(), 2, threads);
  std::string x = w.load(Type::b32), at = w.declare(Type::b32), from = w.declare(Type::b32);
  w.variable(".shared .align 16 .b8 room[1024];");
  std::string base = w.declare(Type::b32);
  w.line("mov.u32 " + base + ", room;");
  w.line("mad.lo.u32 " + at + ", %t, 4, " + base + ";");
  w.line("xor.b32 " + from + ", %t, 7;");
  w.line("mad.lo.u32 " + from + ", " + from + ", 4, " + base + ";");
  w.line("st.shared.b32 [" + at + "], " + x + ";");
  w.line(between);
  std::string y = w.declare(Type::b32);
  w.line("ld.shared.b32 " + y + ", [" + from + "];");
  w.store(y, Type::b32);
  return w.finish(3, w.count());
}

std::vector<Kernel> barriers(const Instance& instance) {
  std::string text = instance.mnemonic();
  if (instance.has("warp")) return {exchange(instance, "", text + " 0xFFFFFFFF;")};
  if (instance.opcode() == "barrier" && instance.has("cluster")) {
    std::string other = instance.has("wait") ? "barrier.cluster.arrive;\n  " + text + ";"
                                             : text + ";\n  barrier.cluster.wait;";
    return {exchange(instance, "", other)};
  }
  if (instance.has("red")) return barrier_reductions(instance);
  if (instance.has("arrive"))  // Half of the warps arrive, the others wait for them.
    return {
        exchange(instance, "",
                 ".reg .pred %early;\n  setp.lt.u32 %early, %t, 128;\n  bar.sync 0;\n  @%early " +
                     text + " 3, 256;\n  @!%early " + std::string(instance.opcode()) +
                     ".sync 3, 256;\n  bar.sync 0;")};
  return {exchange(instance, "", text + " 0;"), exchange(instance, " counted", text + " 2, 256;")};
}

}  // namespace

std::vector<Kernel> warp_kernels(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  std::string text = instance.mnemonic();
  if (opcode == "shfl") return shuffles(instance);
  if (opcode == "vote") return votes(instance);
  if (opcode == "match") return matches(instance);
  if (opcode == "redux") return reductions(instance);
  if (opcode == "elect") {
    Operands list{out(Type::b32), fixed("0xFFFFFFFF")};
    list[0].with_predicate = true;
    return {register_kernel(instance, list, threads, 1)};
  }
  if (opcode == "activemask") return {register_kernel(instance, {out(Type::b32)}, threads, 1)};
  if (opcode == "movmatrix")
    return {register_kernel(instance, {out(Type::b32), in(Type::b32)}, threads, 1)};
  if (instance.has("cc") || opcode == "addc" || opcode == "subc" || opcode == "madc")
    return carries(instance);
  if (opcode == "bar" || opcode == "barrier") return barriers(instance);
  if (opcode == "membar" || (opcode == "fence" && instance.row->signature.operands_max == 0))
    return {exchange(instance, "", text + ";\n  bar.sync 0;")};
  if (opcode == "griddepcontrol") return {exchange(instance, "", text + ";\n  bar.sync 0;")};
  if (opcode == "nanosleep") return {exchange(instance, "", text + " 20;\n  bar.sync 0;")};
  return {};
}

}  // namespace lathe::ptx::witness
