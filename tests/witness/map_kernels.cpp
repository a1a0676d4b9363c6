// Tensor maps that the kernel edits: a copy of a parameter changes one field, goes to global memory
// behind the input, and brings a box. Which field was changed to what shows in the box.

#include "tests/witness/landing.h"
#include "tests/witness/tensor_plan.h"

namespace lathe::ptx::witness {
namespace {

constexpr unsigned landing_bytes = 4096;

/// A field, which of its dimensions, its new value; and what the copy is like then.
struct Edit {
  std::string variant;
  int ordinal = -1;
  std::uint64_t value = 0;
  bool of_address = false;  // The value counts from the beginning of the input.
  TensorPlan plan;          // The map before, and where the copy begins.
  unsigned rank = 2;        // Of the copy.
  unsigned bytes = 0;       // That it brings.
};

Edit edit(const std::string& variant, int ordinal, std::uint64_t value) {
  Edit made;
  made.variant = variant;
  made.ordinal = ordinal;
  made.value = value;
  made.plan = tiled_plan(2, MapType::f32);
  made.bytes = made.plan.box_bytes();
  return made;
}

std::vector<Edit> edits_of(std::string_view field) {
  std::vector<Edit> all;
  auto add = [&](const std::string& variant, int ordinal, std::uint64_t value) -> Edit& {
    all.push_back(edit(variant, ordinal, value));
    return all.back();
  };
  if (field == "global_address") add("", -1, 0).of_address = true;
  if (field == "rank") {
    Edit& fewer = add("3 to 2", -1, 1);
    fewer.plan = tiled_plan(3, MapType::f32);
    fewer.bytes = fewer.plan.box_bytes() / 2;
    Edit& more = add("2 to 2", -1, 1);
    more.plan.first = {-2, 10, 0, 0, 0};
  }
  if (field == "box_dim") {
    add("0 to 8", 0, 8).bytes /= 2;
    add("0 to 32", 0, 32).bytes *= 2;
    add("1 to 3", 1, 3).bytes = 3 * 64;
  }
  if (field == "global_dim") {
    add("0 to 10", 0, 10);
    add("1 to 4", 1, 4);
    add("1 to 13", 1, 13).plan.first = {2, 9, 0, 0, 0};
  }
  if (field == "element_stride") {
    add("0 to 1", 0, 1);
    add("1 to 2", 1, 2).bytes /= 2;
    add("1 to 3", 1, 3).bytes = 3 * 64;
  }
  if (field == "global_stride") {
    add("0 to 160", 0, 160);
    add("0 to 192", 0, 192);
  }
  if (field == "elemtype") {
    for (std::uint64_t type : {2, 3, 7, 8, 11}) add("f32 to " + std::to_string(type), -1, type);
    for (std::uint64_t type : {1, 6, 10}) {
      Edit& each = add("u8 to " + std::to_string(type), -1, type);
      each.plan = tiled_plan(2, MapType::u8);
      each.plan.map.dims[0] = 80;
      each.plan.first[0] = 30;
      each.bytes *= 2;
    }
  }
  if (field == "interleave_layout") add("none", -1, 0);
  if (field == "swizzle_mode") {
    for (std::uint64_t mode : {0, 1, 2, 3}) {
      Edit& each = add("none to " + std::to_string(mode), -1, mode);
      if (mode != 0) each.plan.map.box[0] = 16 << mode >> 2;
      each.bytes = each.plan.box_bytes();
    }
    Edit& none = add("128 to none", -1, 0);
    none.plan = tiled_plan(2, MapType::f32, MapSwizzle::bytes128);
    none.bytes = none.plan.box_bytes();
  }
  if (field == "fill_mode") {
    add("to NaN", -1, 1).plan.first = {-3, -1, 0, 0, 0};
    Edit& zero = add("to zero", -1, 0);
    zero.plan.first = {-3, -1, 0, 0, 0};
    zero.plan.map.nan_fill = true;
  }
  return all;
}

std::string_view field_of(const Instance& instance) {
  for (std::string_view field :
       {"global_address", "rank", "box_dim", "global_dim", "element_stride", "global_stride",
        "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"})
    if (instance.has(field)) return field;
  return {};
}

/// A kernel's map: where it is edited and where it is used.
struct Workshop {
  Landing l;
  std::string shared, global;  // Of the copy in shared memory; a generic address in global.
  std::string own_shared, own_global, own_parameter;  // Of this thread's 4 bytes of 32 threads.
  std::string warp;            // The first warp.
  std::size_t tensor = 0;

  Workshop(const Instance& instance, const std::string& variant, const Edit& edit)
      : l(instance, variant, 1, landing_bytes) {
    l.w.variable(".shared .align 128 .b8 workshop[128];");
    std::string contents = random_contents(edit.plan.tensor_bytes() + 2048, 70);
    tensor = l.w.place_input(contents);
    std::size_t room = l.w.place_input(std::string(128, '\0'));
    TensorMap map = edit.plan.map;
    map.address = tensor;
    std::string parameter = l.w.map(map), own = l.number("shl.b32", "%t, 2");
    std::string wide = l.number("cvt.u64.u32", own, Type::b64);
    shared = l.number("mov.u32", "workshop");
    global = l.number("add.s64", "%in, " + std::to_string(room), Type::b64);
    own_shared = l.number("add.u32", shared + ", " + own);
    own_global = l.number("add.s64", global + ", " + wide, Type::b64);
    own_parameter = l.number("add.s64", parameter + ", " + wide, Type::b64);
    warp = l.number("setp.lt.u32", "%t, 32", Type::pred);
  }
  /// The parameter's bytes as they are.
  void fetch(bool to_shared) {
    std::string word = l.w.declare(Type::b32), guard = "@" + warp + " ";
    l.w.line(guard + "ld.b32 " + word + ", [" + own_parameter + "];");
    l.w.line(guard + (to_shared ? "st.shared.b32 [" + own_shared : "st.global.b32 [" + own_global) +
             "], " + word + ";");
    l.w.line("bar.sync 0;");
  }
  /// From shared to global memory, released to the tensor map's proxy there.
  void publish(const std::string& instruction) {
    l.w.line("bar.sync 0;");
    l.w.line("@!" + warp + " bra published;");
    l.w.line("bar.warp.sync 0xFFFFFFFF;");
    l.w.line(instruction + " [" + global + "], [" + shared + "], 128;");
    l.w.line("published:");
    l.w.line("bar.sync 0;");
  }
  Kernel use(const Edit& edit, const std::string& acquire) {
    l.expect(edit.bytes);
    std::string list;
    for (unsigned i = 0; i < edit.rank; ++i)
      list += (i == 0 ? "" : ", ") + l.number("mov.u32", std::to_string(edit.plan.first[i]));
    l.w.line(acquire + " [" + global + "], 128;");
    l.w.line("@" + l.first + " cp.async.bulk.tensor." + std::to_string(edit.rank) +
             "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [" + l.base + "], [" +
             global + ", {" + list + "}], [" + l.gate + "];");
    l.wait();
    return l.dump(edit.bytes / 4);
  }
};

const std::string copy_and_release =
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned";
const std::string release = "fence.proxy.tensormap::generic.release.gpu";
const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu";

Kernel replaced(const Instance& instance, const Edit& edit) {
  bool to_shared = !instance.has("global");
  Workshop shop(instance, edit.variant.empty() ? "" : " " + edit.variant, edit);
  Landing& l = shop.l;
  std::string at = to_shared ? shop.shared : shop.global;
  if (to_shared && !instance.has("shared::cta"))  // Generic.
    at = l.number("cvta.shared.u64", l.number("cvt.u64.u32", shop.shared, Type::b64), Type::b64);
  std::string value = std::to_string(edit.value);
  std::string_view field = field_of(instance);
  if (edit.of_address)
    value = l.number("add.s64", "%in, " + std::to_string(shop.tensor + 1024), Type::b64);
  else if (field == "global_stride")
    value = l.number("mov.b64", value, Type::b64);
  else if (field != "elemtype" && field != "interleave_layout" && field != "swizzle_mode" &&
           field != "fill_mode")
    value = l.number("mov.b32", value);
  shop.fetch(to_shared);
  l.w.line("@" + l.first + " " + instance.mnemonic() + " [" + at + "], " +
           (edit.ordinal < 0 ? "" : std::to_string(edit.ordinal) + ", ") + value + ";");
  if (to_shared)
    shop.publish(copy_and_release);
  else
    l.w.line("@" + l.first + " " + release + ";"), l.w.line("bar.sync 0;");
  return shop.use(edit, acquire);
}

/// The proxy's fences and the copy that is one: any edit will do.
Kernel fenced(const Instance& instance) {
  Edit one = edit("", 1, 4);
  Workshop shop(instance, " of a map", one);
  bool copies = instance.has("cp_fenceproxy"), acquires = instance.has("acquire");
  shop.fetch(!instance.has("release") || copies);
  std::string text = "@" + shop.l.first + " tensormap.replace.tile.global_dim.";
  if (instance.has("release") && !copies) {
    shop.l.w.line(text + "global.b1024.b32 [" + shop.global + "], 1, 4;");
    shop.l.w.line("bar.sync 0;");
    shop.l.w.line(instance.mnemonic() + ";");
    shop.l.w.line("bar.sync 0;");
  } else {
    shop.l.w.line(text + "shared::cta.b1024.b32 [" + shop.shared + "], 1, 4;");
    shop.publish(copies ? instance.mnemonic() : copy_and_release);
  }
  return shop.use(one, acquires ? instance.mnemonic() : acquire);
}

}  // namespace

std::vector<Kernel> map_kernels(const Instance& instance) {
  std::vector<Kernel> all;
  if (instance.opcode() == "fence") {
    bool maps = !instance.word_with("proxy.tensormap").empty() ||
                !instance.word_with("tensormap::generic").empty();
    if (maps) all.push_back(fenced(instance));
    return all;
  }
  if (instance.opcode() != "tensormap") return {};
  if (instance.has("cp_fenceproxy")) return {fenced(instance)};
  for (const Edit& each : edits_of(field_of(instance))) all.push_back(replaced(instance, each));
  return all;
}

}  // namespace lathe::ptx::witness
