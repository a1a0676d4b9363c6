// Tensor copies by maps that the driver makes: boxes to shared memory, and back by stores and
// reductions.

#include "tests/witness/landing.h"
#include "tests/witness/tensor_plan.h"

namespace lathe::ptx::witness {
namespace {

constexpr unsigned landing_bytes = 4096;
constexpr unsigned multicast_blocks = 4, multicast_mask = 13;

/// What the tensor holds.
std::string contents_of(const TensorPlan& plan, std::uint64_t seed) {
  if (plan.edges) return edge_contents(element_type(plan.map.type), plan.tensor_bytes(), seed);
  return random_contents(plan.tensor_bytes(), 30 + plan.rank());
}

/// "[%map, {%c0, %c1}]"
std::string tensor_operand(Landing& l, const TensorPlan& plan, const std::string& map) {
  std::string list;
  for (unsigned i = 0; i < plan.rank(); ++i) {
    std::string name = l.number("mov.u32", std::to_string(plan.first[i]));
    if (i == 0 && plan.to_neighbour) name = l.number("add.u32", name + ", " + l.rank);
    list += (i == 0 ? "" : ", ") + name;
  }
  return "[" + map + ", {" + list + "}]";
}

std::string offsets_operand(Landing& l, const TensorPlan& plan) {
  if (plan.offsets.empty()) return "";
  std::string list;
  for (unsigned offset : plan.offsets)
    list += (list.empty() ? "" : ", ") + l.number("mov.b16", std::to_string(offset), Type::b16);
  return ", {" + list + "}";
}

/// Thread 0 of a block brings the box, of a multicast that of the second block for three of four.
Kernel load(const Instance& instance, const TensorPlan& plan) {
  bool multicast = instance.has("multicast::cluster");
  std::uint32_t cluster = multicast ? multicast_blocks : plan.to_neighbour ? 2 : 1;
  Landing l(instance, " " + plan.variant, cluster, landing_bytes);
  TensorMap map = plan.map;
  map.address = l.w.place_input(contents_of(plan, 40));
  std::string tensor = tensor_operand(l, plan, l.w.map(map));
  std::string to = l.base, gate = l.gate, guard = l.first, chosen, tail = offsets_operand(l, plan);
  if (multicast) {
    std::string bit = l.number("shr.u32", std::to_string(multicast_mask) + ", " + l.rank);
    bit = l.number("and.b32", bit + ", 1");
    chosen = l.number("setp.ne.u32", bit + ", 0", Type::pred);
    guard = l.number("setp.eq.and.u32", l.rank + ", 1, " + l.first, Type::pred);
    tail += ", " + l.number("mov.b16", std::to_string(multicast_mask), Type::b16);
  }
  tail += l.hint(instance);
  if (plan.to_neighbour) {
    std::string peer = l.number("xor.b32", l.rank + ", 1");
    to = l.remote(to, peer), gate = l.remote(gate, peer);
  }
  std::string armed =
      multicast ? l.number("and.pred", chosen + ", " + l.first, Type::pred) : std::string();
  l.expect(plan.box_bytes(), armed);
  l.w.line("@" + guard + " " + instance.mnemonic() + " [" + to + "+" + std::to_string(plan.place) +
           "], " + tensor + ", [" + gate + "]" + tail + ";");
  l.wait(chosen);
  return l.dump(cluster * plan.box_bytes() / plan.map.element_bytes());
}

/// The box goes from shared memory into a tensor of zeros, or of what a reduction combines with.
Kernel store(const Instance& instance, const TensorPlan& plan) {
  Landing l(instance, " " + plan.variant, 1, landing_bytes);
  bool reduces = instance.has("reduce");
  constexpr unsigned step = 16 * Landing::threads;
  for (unsigned at = 0; at < landing_bytes; at += step) {
    std::string part = plan.edges ? edge_contents(element_type(plan.map.type), step, 50 + at)
                                  : random_contents(step, 50 + at);
    l.move("shared", l.mine + "+" + std::to_string(at), "global", l.w.input_area(16, part));
  }
  TensorMap map = plan.map;
  map.address = l.w.place_output(plan.tensor_bytes());
  if (reduces) {
    std::string own = l.number("mul.wide.u32", "%t, 16", Type::b64);
    std::string from = l.number("add.s64", own + ", %in", Type::b64);
    std::string to = l.number("add.s64", own + ", %out", Type::b64);
    std::size_t before = l.w.place_input(contents_of(plan, 60));
    for (std::size_t at = 0; at < plan.tensor_bytes(); at += step)
      l.move("global", to + "+" + std::to_string(map.address + at), "global",
             from + "+" + std::to_string(before + at));
  }
  std::string tensor = tensor_operand(l, plan, l.w.map(map, true)), hint = l.hint(instance);
  l.w.line("fence.proxy.async;");
  l.w.line("bar.sync 0;");
  std::string guard = "@" + l.first + " ";
  l.w.line(guard + instance.mnemonic() + " " + tensor + ", [" + l.base + "+" +
           std::to_string(plan.place) + "]" + hint + ";");
  l.w.line(guard + "cp.async.bulk.commit_group;");
  l.w.line(guard + "cp.async.bulk.wait_group 0;");
  return l.w.finish(51, plan.box_bytes() / plan.map.element_bytes());
}

}  // namespace

std::vector<Kernel> tensor_kernels(const Instance& instance) {
  if (instance.opcode() != "cp" || !instance.has("tensor") || instance.has("prefetch")) return {};
  // Gathering rows and the wide im2col are another chip's.
  for (std::string_view word : {"tile::gather4", "tile::scatter4", "im2col::w", "im2col::w::128"})
    if (instance.has(word)) return {};
  unsigned rank = dimensions_of(instance);
  bool im2col = instance.has("im2col") || instance.has("im2col_no_offs");
  bool plain = !instance.has("multicast::cluster") && !instance.has("L2::cache_hint") &&
               (im2col || instance.has("tile"));
  std::vector<Kernel> all;
  if (instance.has("bulk_group")) {
    std::string_view operation;
    for (std::string_view word : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
      if (instance.has(word)) operation = word;
    bool main = plain && (operation.empty() || rank == (im2col ? 4 : 2));
    for (const TensorPlan& plan : operation.empty()
                                      ? store_plans(rank, im2col, main)
                                      : reduction_plans(rank, im2col, main, operation))
      all.push_back(store(instance, plan));
    return all;
  }
  for (const TensorPlan& plan :
       load_plans(rank, im2col, plain && instance.has("shared::cluster")))
    all.push_back(load(instance, plan));
  return all;
}

}  // namespace lathe::ptx::witness
