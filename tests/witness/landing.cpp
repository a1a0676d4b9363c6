// The common text of kernels of asynchronous units.

#include "tests/witness/landing.h"

#include <cstring>

#include "base/random.h"

namespace lathe::ptx::witness {

Landing::Landing(const Instance& instance, const std::string& variant, std::uint32_t blocks,
                 unsigned bytes)
    : w(instance.mnemonic() + variant, instance.mnemonic(), blocks, threads),
      cluster(blocks),
      bytes_(bytes) {
  if (cluster > 1) w.cluster(cluster);
  w.variable(".shared .align 1024 .b8 landing[" + std::to_string(bytes) + "];");
  w.variable(".shared .align 8 .b8 gates[8];");
  base = number("mov.u32", "landing");
  gate = number("mov.u32", "gates");
  mine = number("mad.lo.u32", "%t, 16, " + base);
  rank = number("mov.u32", "%cluster_ctarank");
  first = number("setp.eq.u32", "%t, 0", Type::pred);
  std::string blank = number("mov.u32", "0xEEEEEEEE");
  for (unsigned at = 0; at < bytes; at += 16 * threads)
    w.line("st.shared.v4.b32 [" + mine + "+" + std::to_string(at) + "], {" + blank + ", " + blank +
           ", " + blank + ", " + blank + "};");
}

std::string Landing::number(const std::string& instruction, const std::string& operands,
                            Type type) {
  std::string name = w.declare(type);
  w.line(instruction + " " + name + ", " + operands + ";");
  return name;
}

void Landing::expect(unsigned bytes, const std::string& predicate) {
  w.line("@" + first + " mbarrier.init.shared.b64 [" + gate + "], 1;");
  w.line("fence.mbarrier_init.release.cluster;");
  w.line("fence.proxy.async;");
  std::string state = w.declare(Type::b64);
  std::string who = predicate.empty() ? first : predicate;
  w.line("@" + who + " mbarrier.arrive.expect_tx.shared.b64 " + state + ", [" + gate + "], " +
         std::to_string(bytes) + ";");
  meet();
}

void Landing::meet() {
  if (cluster == 1) return w.line("bar.sync 0;");
  w.line("barrier.cluster.arrive.aligned;");
  w.line("barrier.cluster.wait.aligned;");
}

void Landing::wait(const std::string& predicate) {
  meet();
  std::string came = number("setp.ne.u32", "0, 0", Type::pred), tries = number("mov.u32", "0");
  std::string more = w.declare(Type::pred);
  if (!predicate.empty()) w.line("@!" + predicate + " bra waited;");
  w.line("again:");
  w.line("mbarrier.test_wait.parity.shared.b64 " + came + ", [" + gate + "], 0;");
  w.line("@" + came + " bra waited;");
  w.line("add.u32 " + tries + ", " + tries + ", 1;");
  w.line("setp.lt.u32 " + more + ", " + tries + ", 20000;");
  w.line("@" + more + " bra again;");
  w.line("waited:");
  w.store(came, Type::pred);
}

Kernel Landing::dump(std::uint32_t vectors) {
  meet();
  for (unsigned at = 0; at < bytes_; at += 16 * threads)
    move("global", w.output_area(16), "shared", mine + "+" + std::to_string(at));
  return w.finish(25, vectors);
}

void Landing::move(const std::string& to_space, const std::string& to,
                   const std::string& from_space, const std::string& from) {
  std::string list;
  for (unsigned i = 0; i < 4; ++i) list += (i == 0 ? "" : ", ") + w.declare(Type::b32);
  w.line("ld." + from_space + ".v4.b32 {" + list + "}, [" + from + "];");
  w.line("st." + to_space + ".v4.b32 [" + to + "], {" + list + "};");
}

std::string Landing::source(const std::string& contents) {
  w.variable(".shared .align 1024 .b8 source[2048];");
  std::string begin = number("mov.u32", "source");
  std::string own = number("mad.lo.u32", "%t, 16, " + begin);
  move("shared", own, "global", w.input_area(16, contents));
  return begin;
}

std::string Landing::remote(const std::string& address, const std::string& of_rank, bool generic) {
  if (!generic) return number("mapa.shared::cluster.u32", address + ", " + of_rank);
  std::string wide = number("cvt.u64.u32", address, Type::b64);
  wide = number("cvta.shared.u64", wide, Type::b64);
  return number("mapa.u64", wide + ", " + of_rank, Type::b64);
}

std::string Landing::hint(const Instance& instance) {
  if (!instance.has("L2::cache_hint")) return "";
  return ", " + number("createpolicy.fractional.L2::evict_last.b64", "1.0", Type::b64);
}

std::string random_contents(std::size_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(philox64(seed, 2, i) >> 11);
  return bytes;
}

std::string edge_contents(Type type, std::size_t bytes, std::uint64_t seed) {
  unsigned each = width_of(type) / 8;
  const Column column{type, Use::value};
  auto drawn = operand_vectors(std::span(&column, 1), bytes / each, seed);
  std::string contents(bytes, '\0');
  for (std::size_t i = 0; i < bytes / each; ++i)
    std::memcpy(contents.data() + i * each, &drawn[0][i], each);
  return contents;
}

}  // namespace lathe::ptx::witness
