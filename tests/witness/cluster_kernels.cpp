// What one block of a cluster does to another: stores and reductions that tell its mbarrier, bulk
// copies, and addresses and barriers of more than one block.

#include "tests/witness/landing.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = Landing::threads;

/// The block behind this one, in a ring.
std::string neighbour(Landing& l, std::uint32_t cluster) {
  std::string next = l.number("add.u32", l.rank + ", 1");
  return l.number("and.b32", next + ", " + std::to_string(cluster - 1));
}

/// st.async and red.async of each thread into its 16 bytes of another block.
std::vector<Kernel> stores(const Instance& instance) {
  std::vector<Kernel> all;
  unsigned count = instance.has("v4") ? 4 : instance.has("v2") ? 2 : 1;
  unsigned bytes = count * cell_bytes(instance.type);
  bool generic = !instance.has("shared::cluster"), reduces = instance.opcode() == "red";
  for (std::uint32_t cluster : {2u, 4u}) {
    Landing l(instance, " in a cluster of " + std::to_string(cluster), cluster, 2048);
    if (reduces)
      l.w.line("st.shared.b" + std::to_string(8 * bytes) + " [" + l.mine + "], " +
               l.w.load(instance.type) + ";");
    std::string values;
    for (unsigned i = 0; i < count; ++i)
      values += (i == 0 ? "" : ", ") + l.w.load(instance.type);
    if (count > 1) values = "{" + values + "}";
    l.expect(threads * bytes);
    std::string peer = neighbour(l, cluster), to = l.remote(l.mine, peer, generic);
    std::string gate = l.remote(l.gate, peer, generic);
    l.w.line(instance.mnemonic() + " [" + to + "], " + values + ", [" + gate + "];");
    l.wait();
    all.push_back(l.dump(cluster * threads));
  }
  return all;
}

struct Part {
  unsigned bytes, from, to;
};

/// Bulk copies of parts of shared memory to the next block, and reductions there.
std::vector<Kernel> copies_to_cluster(const Instance& instance) {
  std::vector<Kernel> all;
  bool reduces = instance.has("reduce");
  for (Part part : {Part{2048, 0, 0}, Part{1040, 16, 512}, Part{16, 2032, 48}}) {
    Landing l(instance, " of " + std::to_string(part.bytes) + " bytes", 2, 2048);
    Type type = reduces ? instance.type : Type::b32;
    std::string source = l.source(edge_contents(type, 2 * 2048, 26));
    if (reduces)
      l.move("shared", l.mine, "global", l.w.input_area(16, edge_contents(type, 2 * 2048, 27)));
    l.expect(part.bytes);
    std::string peer = neighbour(l, 2), to = l.remote(l.base, peer), gate = l.remote(l.gate, peer);
    l.w.line("@" + l.first + " " + instance.mnemonic() + " [" + to + "+" + std::to_string(part.to) +
             "], [" + source + "+" + std::to_string(part.from) + "], " +
             std::to_string(part.bytes) + ", [" + gate + "];");
    l.wait();
    all.push_back(l.dump(2 * part.bytes / cell_bytes(type)));
  }
  return all;
}

/// A bulk copy from global memory to some blocks of four, issued by the second.
std::vector<Kernel> multicasts(const Instance& instance) {
  std::vector<Kernel> all;
  for (unsigned mask : {15u, 5u}) {
    Landing l(instance, " to the blocks of " + std::to_string(mask), 4, 2048);
    std::size_t place = l.w.place_input(random_contents(2048, 28));
    std::string from = l.number("add.s64", "%in, " + std::to_string(place), Type::b64);
    std::string bit = l.number("shr.u32", std::to_string(mask) + ", " + l.rank);
    bit = l.number("and.b32", bit + ", 1");
    std::string chosen = l.number("setp.ne.u32", bit + ", 0", Type::pred);
    std::string armed = l.number("and.pred", chosen + ", " + l.first, Type::pred);
    std::string issuer = l.number("setp.eq.and.u32", l.rank + ", 1, " + l.first, Type::pred);
    std::string blocks = l.number("mov.b16", std::to_string(mask), Type::b16);
    std::string hint = l.hint(instance);
    l.expect(1536, armed);
    l.w.line("@" + issuer + " " + instance.mnemonic() + " [" + l.base + "+256], [" + from +
             "], 1536, [" + l.gate + "], " + blocks + hint + ";");
    l.wait(chosen);
    all.push_back(l.dump(4 * 1536 / 16));
  }
  return all;
}

/// Each thread reads what a thread of another block of four stored; whose block that was.
std::vector<Kernel> addresses(const Instance& instance) {
  bool shared = instance.has("shared::cluster"), wide = instance.type == Type::u64;
  if (!shared && !wide) return {};
  Landing l(instance, " in a cluster of 4", 4, 2048);
  bool maps = instance.opcode() == "mapa";
  l.w.line("st.shared.b32 [" + l.mine + "], " + l.w.load(Type::b32) + ";");
  l.meet();
  std::string peer = l.number("add.u32", l.rank + ", %t");
  peer = l.number("and.b32", peer + ", 3");
  std::string own = wide ? l.number("cvt.u64.u32", l.mine, Type::b64) : l.mine;
  if (!shared) own = l.number("cvta.shared.u64", own, Type::b64);
  std::string map = maps ? instance.mnemonic()
                         : std::string("mapa") + (shared ? ".shared::cluster" : "") +
                               (wide ? ".u64" : ".u32");
  std::string there = l.number(map, own + ", " + peer, wide ? Type::b64 : Type::b32);
  std::string result = maps ? l.number(shared ? "ld.shared::cluster.b32" : "ld.b32",
                                       "[" + there + "]")
                            : l.number(instance.mnemonic(), there);
  l.w.store(result, Type::b32);
  return {l.dump(4 * threads)};
}

/// What one block stored before the barrier the next one reads behind it.
std::vector<Kernel> barriers(const Instance& instance) {
  Landing l(instance, " between two blocks", 2, 2048);
  l.w.line("st.shared.b32 [" + l.mine + "], " + l.w.load(Type::b32) + ";");
  if (instance.has("relaxed")) l.w.line("fence.acq_rel.cluster;");
  bool waits = instance.has("wait");
  l.w.line(waits ? "barrier.cluster.arrive;" : instance.mnemonic() + ";");
  l.w.line(waits ? instance.mnemonic() + ";" : "barrier.cluster.wait;");
  if (instance.has("relaxed")) l.w.line("fence.acq_rel.cluster;");
  std::string there = l.remote(l.mine, neighbour(l, 2));
  l.w.store(l.number("ld.shared::cluster.b32", "[" + there + "]"), Type::b32);
  return {l.dump(2 * threads)};
}

}  // namespace

std::vector<Kernel> cluster_kernels(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  if (opcode == "mapa" || opcode == "getctarank") return addresses(instance);
  if (opcode == "barrier" && instance.has("cluster")) return barriers(instance);
  bool tells = !instance.word_with("mbarrier::").empty();
  if ((opcode == "st" || opcode == "red") && instance.has("async"))
    return tells ? stores(instance) : std::vector<Kernel>{};
  if (opcode != "cp" || !instance.has("bulk") || instance.has("tensor") || !tells) return {};
  if (instance.has("multicast::cluster")) return multicasts(instance);
  if (instance.has("global")) return {};
  return copies_to_cluster(instance);
}

}  // namespace lathe::ptx::witness
