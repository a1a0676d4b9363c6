// What waits for asynchronous work, witnessed by the work: copies of a thread, bulk copies,
// products of a warpgroup. What a wait lets go is read before the rest is waited for.

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 128;
constexpr unsigned room = 16;  // Bytes of a thread.

std::string some_bytes(std::size_t count, std::uint64_t seed) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(philox64(seed, 4, i) >> 11);
  return bytes;
}

/// A kernel with rooms of 16 bytes a thread in shared memory.
struct Rooms {
  Writer w;
  std::string base, mine, first;
  Rooms(const Instance& instance, const std::string& variant, unsigned count)
      : w(instance.mnemonic() + variant, instance.mnemonic(), 1, threads) {
    base = w.declare(Type::b32), mine = w.declare(Type::b32), first = w.declare(Type::pred);
    w.variable(".shared .align 128 .b8 rooms[" + std::to_string(count * room * threads) + "];");
    w.line("mov.u32 " + base + ", rooms;");
    w.line("mad.lo.u32 " + mine + ", %t, " + std::to_string(room) + ", " + base + ";");
    w.line("setp.eq.u32 " + first + ", %t, 0;");
  }
  static std::string at(const std::string& base, unsigned i) {
    return "[" + base + "+" + std::to_string(i * room * threads) + "]";
  }
  void move(const std::string& to, const std::string& from, const std::string& guard = "") {
    std::string list;
    for (unsigned i = 0; i < 4; ++i) list += (i == 0 ? "" : ", ") + w.declare(Type::b32);
    w.line(guard + "ld." + from.substr(0, from.find(' ')) + ".v4.b32 {" + list + "}, " +
           from.substr(from.find(' ') + 1) + ";");
    w.line(guard + "st." + to.substr(0, to.find(' ')) + ".v4.b32 " + to.substr(to.find(' ') + 1) +
           ", {" + list + "};");
  }
};

/// Three copies in three groups; the older ones are read after the wait, the rest after all.
std::vector<Kernel> copy_waits(const Instance& instance) {
  std::vector<Kernel> all;
  for (unsigned left = 0; left < 3; ++left) {
    Rooms r(instance, " " + std::to_string(left), 3);
    std::vector<std::string> results;
    for (unsigned i = 0; i < 3; ++i) {
      std::string from = r.w.input_area(room, some_bytes(room * threads, i + 1));
      r.w.line("cp.async.cg.shared.global " + Rooms::at(r.mine, i) + ", [" + from + "], 16;");
      r.w.line("cp.async.commit_group;");
      results.push_back(r.w.output_area(room));
    }
    auto look = [&](unsigned i) {
      r.move("global [" + results[i] + "]", "shared " + Rooms::at(r.mine, i));
    };
    r.w.line(instance.mnemonic() + " " + std::to_string(left) + ";");
    for (unsigned i = 0; i < 3 - left; ++i) look(i);
    r.w.line("cp.async.wait_all;");
    for (unsigned i = 3 - left; i < 3; ++i) look(i);
    all.push_back(r.w.finish(31, threads));
  }
  return all;
}

/// Copies arrive at an mbarrier, and each thread reads what another one's copy brought. Without
/// .noinc the arrival is one more than those expected, which are the threads' own.
std::vector<Kernel> copy_arrivals(const Instance& instance) {
  Rooms r(instance, "", 1);
  Writer& w = r.w;
  bool counted = instance.has("noinc"), generic = instance.word_with("shared").empty();
  std::string gate = w.declare(Type::b32), own = gate, other = w.declare(Type::b32);
  std::string done = w.declare(Type::pred), state = w.declare(Type::b64);
  w.variable(".shared .align 8 .b8 gate[8];");
  w.line("mov.u32 " + gate + ", gate;");
  if (generic) {
    own = w.declare(Type::b64);
    w.line("mov.u64 " + own + ", gate;");
    w.line("cvta.shared.u64 " + own + ", " + own + ";");
  }
  std::string from = w.input_area(room, some_bytes(room * threads, 7)),
              result = w.output_area(room);
  w.line("@" + r.first + " mbarrier.init.shared.b64 [" + gate + "], " + std::to_string(threads) +
         ";");
  w.line("bar.sync 0;");
  w.line("cp.async.cg.shared.global [" + r.mine + "], [" + from + "], 16;");
  w.line(instance.mnemonic() + " [" + own + "];");
  if (!counted) w.line("mbarrier.arrive.shared.b64 " + state + ", [" + gate + "];");
  w.line("again:");
  w.line("mbarrier.try_wait.parity.shared.b64 " + done + ", [" + gate + "], 0;");
  w.line("@!" + done + " bra again;");
  w.line("xor.b32 " + other + ", %t, 37;");
  w.line("mad.lo.u32 " + other + ", " + other + ", " + std::to_string(room) + ", " + r.base + ";");
  r.move("global [" + result + "]", "shared [" + other + "]");
  // One phase is over and no arrival too many stands in the next.
  for (const char* parity : {"0", "1"}) {
    w.line("mbarrier.test_wait.parity.shared.b64 " + done + ", [" + gate + "], " + parity + ";");
    w.store(done, Type::pred);
  }
  return {w.finish(32, threads)};
}

/// Two bulk copies to global memory in two groups. After a wait for their reads shared memory may
/// be overwritten; after a wait for them their bytes are there to be read.
std::vector<Kernel> bulk_waits(const Instance& instance) {
  std::vector<Kernel> all;
  bool reads = instance.has("read");
  for (unsigned left = 0; left < 2; ++left) {
    Rooms r(instance, " " + std::to_string(left), 1);
    Writer& w = r.w;
    std::string from = w.input_area(room, some_bytes(room * threads, 8));
    std::string blank = w.input_area(room, some_bytes(room * threads, 9));
    std::string result = w.output_area(room), seen = w.output_area(room);
    std::string some = w.declare(Type::pred), guard = "@" + r.first + " ";
    w.line("setp.lt.u32 " + some + ", %t, " + std::to_string(left == 0 ? threads : threads / 2) +
           ";");
    r.move("shared [" + r.mine + "]", "global [" + from + "]");
    w.line("fence.proxy.async;");
    w.line("bar.sync 0;");
    for (unsigned half = 0; half < 2; ++half) {
      std::string at = "+" + std::to_string(half * room * threads / 2) + "]";
      w.line(guard + "cp.async.bulk.global.shared::cta.bulk_group [" + result + at + ", [" +
             r.base + at + ", " + std::to_string(room * threads / 2) + ";");
      w.line(guard + "cp.async.bulk.commit_group;");
    }
    w.line(guard + instance.mnemonic() + " " + std::to_string(left) + ";");
    w.line("bar.sync 0;");
    if (reads)
      r.move("shared [" + r.mine + "]", "global [" + blank + "]", "@" + some + " ");
    else
      r.move("global [" + seen + "]", "global [" + result + "]", "@" + some + " ");
    w.line(guard + "cp.async.bulk.wait_group 0;");
    all.push_back(w.finish(33, threads));
  }
  return all;
}

/// A register with the descriptor of rows of 32 bytes at `base`, as two core matrices.
std::string descriptor_of_rows(Writer& w, const std::string& base) {
  std::string low = w.declare(Type::b32), d = w.declare(Type::b64), rest = w.declare(Type::b64);
  std::uint64_t bits = std::uint64_t{128 >> 4} << 16 | std::uint64_t{256 >> 4} << 32;
  w.line("shr.u32 " + low + ", " + base + ", 4;");
  w.line("and.b32 " + low + ", " + low + ", 0x3FFF;");
  w.line("cvt.u64.u32 " + d + ", " + low + ";");
  w.line("mov.u64 " + rest + ", " + std::to_string(bits) + ";");
  w.line("or.b64 " + d + ", " + d + ", " + rest + ";");
  return d;
}

std::string pairs_of_halves(Writer& w, unsigned seed) {
  std::vector<std::uint64_t> elements(threads);
  for (unsigned t = 0; t < threads; ++t)
    elements[t] = matrix_element(Type::f16, 1, seed, 2 * t) |
                  matrix_element(Type::f16, 0, seed, 2 * t + 1) << 16;
  return w.load_given(Type::b32, elements);
}

/// Two products in two groups: the first one's registers are read after the wait.
std::vector<Kernel> product_waits(const Instance& instance) {
  std::vector<Kernel> all;
  for (unsigned left = 0; left < 2; ++left) {
    Rooms r(instance, " " + std::to_string(left), 1);
    Writer& w = r.w;
    std::string tile;
    for (unsigned i = 0; i < room * threads / 2; ++i) {
      std::uint64_t bits = matrix_element(Type::f16, 1, 41, i);
      tile += {static_cast<char>(bits), static_cast<char>(bits >> 8)};
    }
    std::string from = w.input_area(room, tile), always = w.declare(Type::pred), a;
    r.move("shared [" + r.mine + "]", "global [" + from + "]");
    for (unsigned i = 0; i < 4; ++i) a += (i == 0 ? "" : ", ") + pairs_of_halves(w, 50 + i);
    std::string b = descriptor_of_rows(w, r.base);
    std::vector<std::vector<std::string>> d(2);
    for (std::vector<std::string>& each : d)
      for (unsigned i = 0; i < 4; ++i) each.push_back(w.load(Type::f32));
    w.line("setp.eq.u32 " + always + ", 0, 0;");
    w.line("fence.proxy.async;");
    w.line("bar.sync 0;");
    w.line("wgmma.fence.sync.aligned;");
    for (const std::vector<std::string>& each : d) {
      w.line("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {" + each[0] + ", " + each[1] +
             ", " + each[2] + ", " + each[3] + "}, {" + a + "}, " + b + ", " + always +
             ", 1, 1, 0;");
      w.line("wgmma.commit_group.sync.aligned;");
    }
    w.line(instance.mnemonic() + " " + std::to_string(left) + ";");
    for (const std::string& each : d[0]) w.store(each, Type::f32);
    if (left != 0) w.line("wgmma.wait_group.sync.aligned 0;");
    for (const std::string& each : d[1]) w.store(each, Type::f32);
    all.push_back(w.finish(34, threads));
  }
  return all;
}

}  // namespace

std::vector<Kernel> wait_kernels(const Instance& instance) {
  bool copies = instance.opcode() == "cp" && instance.has("async");
  if (copies && instance.has("wait_group"))
    return instance.has("bulk") ? bulk_waits(instance) : copy_waits(instance);
  if (copies && instance.has("mbarrier") && instance.has("arrive")) return copy_arrivals(instance);
  if (instance.opcode() == "wgmma" && instance.has("wait_group")) return product_waits(instance);
  return {};
}

}  // namespace lathe::ptx::witness
