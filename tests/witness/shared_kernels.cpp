// mbarriers, probed by what waits for them, and bulk copies.

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

/// One thread works on one barrier; what test_wait says after each of five arrivals tells its
/// counts and its phase.
class Probe {
 public:
  Probe(const Instance& instance, const std::string& variant, unsigned expected)
      : w_(instance.mnemonic() + variant, instance.mnemonic(), 1, 32) {
    w_.variable(".shared .align 8 .b8 gate[8];");
    at_ = w_.declare(Type::b32);
    first_ = w_.declare(Type::pred);
    w_.line("mov.u32 " + at_ + ", gate;");
    w_.line("setp.eq.u32 " + first_ + ", %t, 0;");
    own_ = at_;
    if (instance.word_with("shared").empty()) {
      own_ = w_.declare(Type::b64);
      w_.line("mov.u64 " + own_ + ", gate;");
      w_.line("cvta.shared.u64 " + own_ + ", " + own_ + ";");
    }
    if (expected != 0)
      w_.line(mine() + "mbarrier.init.shared.b64 [" + at_ + "], " + std::to_string(expected) + ";");
  }
  std::string mine() const { return "@" + first_ + " "; }
  const std::string& at() const { return at_; }
  /// As the instruction itself takes it: generic where it names no space.
  const std::string& own() const { return own_; }
  Writer& writer() { return w_; }
  void line(const std::string& text) { w_.line(mine() + text); }

  void look() {
    for (const char* parity : {"0", "1"}) {
      std::string p = w_.declare(Type::pred);
      w_.line("setp.ne.u32 " + p + ", 0, 0;");
      line("mbarrier.test_wait.parity.shared.b64 " + p + ", [" + at_ + "], " + parity + ";");
      w_.store(p, Type::pred);
    }
  }
  Kernel arrive_and_finish(unsigned arrivals) {
    look();
    for (unsigned i = 0; i < arrivals; ++i) {
      std::string state = w_.declare(Type::b64);
      line("mbarrier.arrive.shared.b64 " + state + ", [" + at_ + "];");
      look();
    }
    return w_.finish(16, 1);
  }

 private:
  Writer w_;
  std::string at_, own_, first_;
};

std::vector<Kernel> waits(const Instance& instance) {
  Probe probe(instance, "", 2);
  Writer& w = probe.writer();
  std::string state = w.declare(Type::b64), p = w.declare(Type::pred), q = w.declare(Type::pred);
  probe.line("mbarrier.arrive.shared.b64 " + state + ", [" + probe.at() + "];");
  w.line("setp.ne.u32 " + p + ", 0, 0;");
  w.line("setp.ne.u32 " + q + ", 0, 0;");
  bool parity = instance.has("parity");
  std::string text = " , [" + probe.own() + "], " + (parity ? "0" : state) + ";";
  // A waiting test may be told no spuriously, so only its final yes is kept.
  if (instance.has("test_wait")) probe.line(instance.mnemonic() + " " + p + text.substr(1));
  std::string other = w.declare(Type::b64);
  probe.line("mbarrier.arrive.shared.b64 " + other + ", [" + probe.at() + "];");
  w.line("again:");
  probe.line(instance.mnemonic() + " " + q + text.substr(1));
  std::string more = w.declare(Type::pred);
  w.line("not.pred " + more + ", " + q + ";");
  w.line("and.pred " + more + ", " + more + ", " + probe.mine().substr(1, probe.mine().size() - 2) +
         ";");
  w.line("@" + more + " bra again;");
  w.store(p, Type::pred);
  w.store(q, Type::pred);
  return {probe.arrive_and_finish(2)};
}

/// Operand texts by what the mnemonic has: arrivals with and without a count, transactions.
std::vector<Kernel> barrier_objects(const Instance& instance) {
  std::vector<Kernel> all;
  std::string text = instance.mnemonic();
  bool remote = instance.has("shared::cluster");
  if (instance.has("test_wait") || instance.has("try_wait")) return waits(instance);
  if (instance.has("init"))
    for (const char* count : {"1", "2", "4"}) {
      Probe probe(instance, std::string(" ") + count, 0);
      probe.line(text + " [" + probe.own() + "], " + count + ";");
      all.push_back(probe.arrive_and_finish(5));
    }
  else if (instance.has("inval")) {
    Probe probe(instance, "", 1);
    probe.line(text + " [" + probe.own() + "];");
    probe.line("mbarrier.init.shared.b64 [" + probe.at() + "], 3;");
    all.push_back(probe.arrive_and_finish(4));
  } else if (instance.has("pending_count")) {
    Probe probe(instance, "", 3);
    Writer& w = probe.writer();
    std::string state = w.declare(Type::b64), n = w.declare(Type::b32);
    w.line("mov.u32 " + n + ", 0;");
    w.line("mov.u64 " + state + ", 0;");
    probe.line("mbarrier.arrive.shared.b64 " + state + ", [" + probe.at() + "];");
    probe.line(text + " " + n + ", " + state + ";");
    w.store(n, Type::b32);
    all.push_back(probe.arrive_and_finish(3));
  } else if (instance.has("expect_tx") || instance.has("complete_tx")) {
    bool arrives = instance.has("arrive") || instance.has("arrive_drop");
    Probe probe(instance, "", 2);
    std::string state = probe.writer().declare(Type::b64);
    if (instance.has("complete_tx"))
      probe.line("mbarrier.expect_tx.relaxed.cta.shared.b64 [" + probe.at() + "], 48;");
    std::string to = arrives ? remote ? "_, " : state + ", " : "";
    probe.line(text + " " + to + "[" + probe.own() + "], 16;");
    probe.look();
    probe.line("mbarrier.arrive.shared.b64 " + state + ", [" + probe.at() + "];");
    probe.look();
    probe.line("mbarrier.complete_tx.relaxed.cta.shared.b64 [" + probe.at() + "], " +
               (instance.has("complete_tx") ? "32" : "16") + ";");
    all.push_back(probe.arrive_and_finish(3));
  } else if (instance.has("arrive") || instance.has("arrive_drop")) {
    for (const char* count : {"", ", 1", ", 2"}) {
      if (instance.has("noComplete") && *count == 0) continue;
      Probe probe(instance, count, 4);
      std::string state = probe.writer().declare(Type::b64);
      probe.line(text + " " + (remote ? "_" : state) + ", [" + probe.own() + "]" + count + ";");
      all.push_back(probe.arrive_and_finish(5));
    }
  }
  return all;
}

constexpr std::uint32_t threads = 128;

std::string bytes_of(std::size_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(philox64(seed, 2, i) >> 11);
  return bytes;
}

/// Begins a kernel with a shared tile of 16 bytes a thread, and its addresses.
struct Tile {
  Writer w;
  std::string base, mine, gate, first;
  explicit Tile(const Instance& instance)
      : w(instance.mnemonic(), instance.mnemonic(), 1, threads) {
    base = w.declare(Type::b32), mine = w.declare(Type::b32), gate = w.declare(Type::b32);
    first = w.declare(Type::pred);
    w.variable(".shared .align 128 .b8 tile[2048];");
    w.variable(".shared .align 8 .b8 gates[8];");
    w.line("mov.u32 " + base + ", tile;");
    w.line("mov.u32 " + gate + ", gates;");
    w.line("mad.lo.u32 " + mine + ", %t, 16, " + base + ";");
    w.line("setp.eq.u32 " + first + ", %t, 0;");
  }
  void move(const std::string& to_space, const std::string& to, const std::string& from_space,
            const std::string& from) {
    std::string list;
    for (unsigned i = 0; i < 4; ++i) list += (i == 0 ? "" : ", ") + w.declare(Type::b32);
    w.line("ld." + from_space + ".v4.b32 {" + list + "}, [" + from + "];");
    w.line("st." + to_space + ".v4.b32 [" + to + "], {" + list + "};");
  }
  std::string whole(const char* pointer, const std::string& of_thread) {
    (void)pointer;
    std::string base_address = w.declare(Type::b64), offset = w.declare(Type::b64);
    w.line("mul.wide.u32 " + offset + ", %t, 16;");
    w.line("sub.s64 " + base_address + ", " + of_thread + ", " + offset + ";");
    return base_address;
  }
  std::string hint(const Instance& instance) {
    if (!instance.has("L2::cache_hint")) return "";
    std::string name = w.declare(Type::b64);
    w.line("createpolicy.fractional.L2::evict_last.b64 " + name + ", 1.0;");
    return ", " + name;
  }
};

std::vector<Kernel> bulk_to_shared(const Instance& instance) {
  Tile t(instance);
  std::string from = t.w.input_area(16, bytes_of(16 * threads, 4));
  std::string result = t.w.output_area(16), whole = t.whole("in", from);
  std::string guard = "@" + t.first + " ", done = t.w.declare(Type::pred);
  t.w.line(guard + "mbarrier.init.shared.b64 [" + t.gate + "], 1;");
  t.w.line("fence.mbarrier_init.release.cluster;");
  t.w.line("bar.sync 0;");
  std::string state = t.w.declare(Type::b64);
  t.w.line(guard + "mbarrier.arrive.expect_tx.shared.b64 " + state + ", [" + t.gate + "], 2048;");
  std::string more;
  if (instance.has("multicast::cluster")) {
    std::string mask = t.w.declare(Type::b16);
    t.w.line("mov.b16 " + mask + ", 1;");
    more = ", " + mask;
  }
  more += t.hint(instance);
  t.w.line(guard + instance.mnemonic() + " [" + t.base + "], [" + whole + "], 2048, [" + t.gate +
           "]" + more + ";");
  t.w.line("again:");
  t.w.line("mbarrier.try_wait.parity.shared.b64 " + done + ", [" + t.gate + "], 0;");
  t.w.line("@!" + done + " bra again;");
  t.move("global", result, "shared", t.mine);
  return {t.w.finish(17, threads)};
}

std::vector<Kernel> bulk_from_shared(const Instance& instance) {
  Tile t(instance);
  bool reduces = instance.has("reduce");
  std::string from = t.w.input_area(16, bytes_of(16 * threads, 5));
  std::string before = t.w.input_area(16, bytes_of(16 * threads, 6));
  std::string result = t.w.output_area(16), whole = t.whole("out", result);
  t.move("shared", t.mine, "global", from);
  if (reduces) t.move("global", result, "global", before);
  t.w.line("fence.proxy.async;");
  t.w.line("bar.sync 0;");
  std::string guard = "@" + t.first + " ", hint = t.hint(instance);
  t.w.line(guard + instance.mnemonic() + " [" + whole + "], [" + t.base + "], 2048" + hint + ";");
  t.w.line(guard + "cp.async.bulk.commit_group;");
  t.w.line(guard + "cp.async.bulk.wait_group 0;");
  return {t.w.finish(18, threads)};
}

}  // namespace

std::vector<Kernel> shared_kernels(const Instance& instance) {
  if (instance.opcode() == "mbarrier") return barrier_objects(instance);
  if (instance.opcode() != "cp" || !instance.has("bulk") || instance.has("tensor") ||
      instance.has("prefetch") || instance.row->signature.operands_max < 3)
    return {};
  if (!instance.word_with("mbarrier::").empty()) {
    if (!instance.has("global")) return {};
    return bulk_to_shared(instance);
  }
  return bulk_from_shared(instance);
}

}  // namespace lathe::ptx::witness
