// Asynchronous units as operations: bulk copies and tensor maps, stores that tell an mbarrier,
// clusters. tcgen05 is in decode_tensor.cpp.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

constexpr std::array reductions{"add"sv, "min"sv, "max"sv, "and"sv,
                                "or"sv,  "xor"sv, "inc"sv, "dec"sv};
constexpr std::array reduction_modes{Mode::add,    Mode::min,     Mode::max,       Mode::bit_and,
                                     Mode::bit_or, Mode::bit_xor, Mode::increment, Mode::decrement};

AsyncForm::Tile tile_of(const Instruction& instruction) {
  using Tile = AsyncForm::Tile;
  Tile tile = Tile::tile;
  for (std::string_view word : instruction.modifiers) {
    if (word == "tile::gather4") tile = Tile::gather;
    if (word == "tile::scatter4") tile = Tile::scatter;
    if (word == "im2col" || word == "im2col_no_offs") tile = Tile::im2col;
    if (word.starts_with("im2col::w")) tile = Tile::im2col_wide;
  }
  return tile;
}

}  // namespace

bool Decoder::asynchronous(const FormMatch& match) {
  switch (match.effect) {
    case Effect::cluster_barrier:
      return cluster_barrier(match);
    case Effect::map_address:
      return map_address(match);
    case Effect::bulk_copy:
      return bulk_copy(match);
    case Effect::bulk_commit:
      emit(match.effect, match.form);
      return true;
    case Effect::bulk_wait: {
      Operation& op = emit(match.effect, match.form);
      op.flag = has("read");
      op.form.constant = static_cast<std::uint32_t>(now_->operands[0].bits);
      return true;
    }
    case Effect::store_async:
      return store_async(match);
    case Effect::discard:
      return discard(match);
    case Effect::fill:
      return fill(match);
    case Effect::launch_control:
      return launch_control(match);
    case Effect::tensor_map:
      return tensor_map(match);
    case Effect::tensor_memory:
      return tensor_memory(match);
    case Effect::tensor_load:
    case Effect::tensor_store:
      return tensor_move(match);
    case Effect::tensor_wait:
      emit(match.effect, match.form).flag = has("wait::ld");
      return true;
    case Effect::tensor_multiply:
      return tensor_multiply(match);
    case Effect::tensor_commit:
      return tensor_commit(match);
    case Effect::tensor_copy:
      return tensor_copy(match);
    default:
      return warp_wide(match);
  }
}

Operation& Decoder::emit_async(Effect effect, const FormMatch& match, AsyncForm form) {
  Operation& op = emit(effect, match.form);
  op.matrix = static_cast<std::uint32_t>(program_.async_forms.size());
  program_.async_forms.push_back(std::move(form));
  return op;
}

void Decoder::add_slots(Operation& op, const std::vector<Slot>& slots) {
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(slots.size());
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
}

bool Decoder::cluster_barrier(const FormMatch& match) {
  Operation& op = emit(match.effect, match.form);
  op.mode = has("arrive") ? Mode::arrive : Mode::sync;
  op.flag = !has("aligned");
  op.strong = has("relaxed");
  return true;
}

bool Decoder::map_address(const FormMatch& match) {
  bool rank = now_->opcode == "getctarank";
  Type type = match.form.type;
  Slot d = destination(now_->operands[0], rank ? Type::u32 : type);
  Slot a = source(now_->operands[1], type);
  Slot b = rank ? a : source(now_->operands[2], Type::u32);
  if (error_) return false;
  Operation& op = emit(match.effect, match.form);
  op.mode = rank ? Mode::index : Mode::none;
  op.fixed = {d, a, b};
  return true;
}

/// `[map, {c0, c1}]`
bool Decoder::coordinates(const Operand& operand, Address& out, std::vector<Slot>& list) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 2)
    return complain(operand, "a tensor map with coordinates is expected",
                    "write [%rd1, {%r1, %r2}]");
  Operand base = operand;
  base.parts.resize(1);
  if (!address(base, out)) return false;
  for (const Operand* part : elements(operand.parts[1])) {
    list.push_back(source(*part, Type::s32));
    if (error_) return false;
  }
  return true;
}

/// The operands behind the addresses, in the order of the manual.
bool Decoder::bulk_operands(AsyncForm& form, Address& to, Address& from, bool tensor, bool stores) {
  const std::vector<Operand>& operands = now_->operands;
  std::size_t next = 2;
  if (tensor) {
    if (!coordinates(operands[stores ? 0 : 1], stores ? to : from, form.coordinates)) return false;
    if (!address(operands[stores ? 1 : 0], stores ? from : to)) return false;
  } else {
    if (!address(operands[0], to) || !address(operands[1], from)) return false;
    form.size = source(operands[next++], Type::u32);
    for (Slot& end : form.ignored)
      if (has("ignore_oob")) end = source(operands[next++], Type::u32);
    if (error_) return false;
  }
  if (!stores) {
    if (next >= operands.size()) return complain("the mbarrier of the copy is missing");
    if (!address(operands[next++], form.barrier)) return false;
  }
  if (!stores && !image_offsets(form, next)) return false;
  auto optional = [&](std::string_view word, Type type, Slot& slot) {
    if (!has(word)) return true;
    if (next >= operands.size())
      return complain("the operand of ." + std::string(word) + " is missing");
    slot = source(operands[next++], type);
    return !error_;
  };
  Slot policy;
  return !error_ && optional("multicast::cluster", Type::u16, form.multicast) &&
         optional("L2::cache_hint", Type::b64, policy) &&
         optional("cp_mask", Type::u16, form.byte_mask);
}

/// The mode and dimensions of a tensor's copy.
void Decoder::read_tile(AsyncForm& form) const {
  form.tile = tile_of(*now_);
  for (std::string_view word : now_->modifiers)
    if (word.size() == 2 && word[1] == 'd' && word[0] >= '1' && word[0] <= '5')
      form.dimensions = static_cast<std::uint8_t>(word[0] - '0');
}

/// As many coordinates as dimensions, as many offsets as an image has.
bool Decoder::tile_fits(const AsyncForm& form) {
  using Tile = AsyncForm::Tile;
  bool four = form.tile == Tile::gather || form.tile == Tile::scatter;
  std::size_t wanted = four ? 5 : form.dimensions;
  if (form.coordinates.size() != wanted)
    return complain("a copy of this dimension has " + std::to_string(wanted) + " coordinates");
  std::size_t offsets = form.tile == Tile::im2col ? form.dimensions - 2u : 2;
  if (!form.offsets.empty() && form.offsets.size() != offsets)
    return complain("an image of this dimension has " + std::to_string(offsets) + " offsets");
  return true;
}

bool Decoder::image_offsets(AsyncForm& form, std::size_t& next) {
  bool image = form.tile == AsyncForm::Tile::im2col || form.tile == AsyncForm::Tile::im2col_wide;
  if (!image || next >= now_->operands.size()) return true;
  const Operand& operand = now_->operands[next++];
  if (operand.kind != Operand::Kind::vector) return complain(operand, "a vector is expected");
  for (const Operand* part : elements(operand)) {
    form.offsets.push_back(source(*part, Type::u16));
    if (error_) return false;
  }
  return true;
}

/// cp.async.bulk.prefetch: a hint, whose operands are checked.
bool Decoder::prefetch_bulk(const FormMatch& match) {
  if (!has("tensor")) return idle(match);
  AsyncForm form;
  Address from;
  std::size_t next = 1;
  read_tile(form);
  if (!coordinates(now_->operands[0], from, form.coordinates) || !image_offsets(form, next) ||
      !tile_fits(form))
    return false;
  if (has("L2::cache_hint")) source(now_->operands.back(), Type::u64);
  if (error_) return false;
  emit(match.effect, match.form);
  return true;
}

bool Decoder::bulk_copy(const FormMatch& match) {
  using Move = AsyncForm::Move;
  AsyncForm form;
  bool tensor = has("tensor"), global = has("global"), stores = has("bulk_group");
  form.move = stores ? Move::to_global : global ? Move::to_shared : Move::to_cluster;
  form.reduces = has("reduce");
  form.group = has("cta_group::2") ? 2 : 1;
  form.type = match.form.type;
  if (tensor) read_tile(form);
  Address to, from;
  if (!bulk_operands(form, to, from, tensor, stores)) return false;
  if (tensor && !tile_fits(form)) return false;
  unsigned width = tensor ? 8 : cell_bytes(match.form.type);
  std::array<Slot, 3> work;
  bool computes = form.reduces || (tensor && !stores);  // Elements of tf32 are rounded.
  if (computes)
    for (Slot& slot : work) slot = scratch(width);
  Slot landing = scratch(8);
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = to;
  op.source = from;
  op.space = global && !stores && !has("shared::cluster") ? Space::shared : Space::cluster;
  op.fixed[3] = landing;
  if (computes)
    op.places = {work[0].place, work[0].place, work[1].place, work[2].place, work[2].place};
  if (program_.async_forms.back().reduces) {
    for (std::size_t i = 0; i < reductions.size(); ++i)
      if (has(reductions[i])) op.mode = reduction_modes[i];
  }
  return true;
}

/// st.bulk: `[a], size, 0`.
bool Decoder::fill(const FormMatch& match) {
  const Operand& zero = now_->operands[2];
  AsyncForm form;
  Address to;
  if (!address(now_->operands[0], to)) return false;
  form.size = source(now_->operands[1], Type::u64);
  if (error_) return false;
  if (zero.kind != Operand::Kind::integer || zero.bits != 0)
    return complain(zero, "st.bulk writes zeros and nothing else", "write 0");
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = to;
  op.space = space_of(*now_);
  op.access = AccessKind::write;
  return true;
}

/// clusterlaunchcontrol.try_cancel: `[answer], [mbarrier]`; .query_cancel: `d, answer`.
bool Decoder::launch_control(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  if (!has("try_cancel")) {
    bool asks = has("is_canceled");
    std::vector<const Operand*> parts = elements(operands[0]);
    if (parts.size() != (has("v4") ? 4 : 1))
      return complain(operands[0], "as many elements as the modifiers say");
    std::vector<Slot> slots;
    for (const Operand* part : parts) {
      slots.push_back(destination(*part, asks ? Type::pred : Type::b32));
      if (error_) return false;
    }
    Slot answer = source(operands[1], Type::b128);
    if (error_) return false;
    Operation& op = emit(match.effect, match.form);
    op.mode = asks ? Mode::any : Mode::index;
    op.fixed = {slots[0], answer};
    return true;
  }
  AsyncForm form;
  Address to;
  if (!address(operands[0], to) || !address(operands[1], form.barrier)) return false;
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = to;
  op.space = has("shared::cta") ? Space::shared : Space::generic;
  op.access = AccessKind::write;
  op.flag = has("multicast::cluster::all");
  return true;
}

/// st.async and red.async: `[a], b, [mbarrier]`; into global memory, releasing, `[a], b`.
bool Decoder::store_async(const FormMatch& match) {
  AsyncForm form;
  bool releases = has("release");
  form.move = releases ? AsyncForm::Move::to_global : AsyncForm::Move::to_cluster;
  form.reduces = now_->opcode == "red";
  form.type = match.form.type;
  Address to;
  bool tells = now_->operands.size() > 2;
  if (!address(now_->operands[0], to) || (tells && !address(now_->operands[2], form.barrier)))
    return false;
  std::vector<const Operand*> parts = elements(now_->operands[1]);
  unsigned count = has("v4") ? 4 : has("v2") ? 2 : 1;
  if (parts.size() != count)
    return complain(now_->operands[1], "a vector of " + std::to_string(count) + " is expected");
  std::vector<Slot> slots;
  for (const Operand* part : parts) {
    slots.push_back(source(*part, match.form.type));
    if (error_) return false;
  }
  if (!tells && count > 1) return complain("the mbarrier is missing");
  // The assembler takes one without its mbarrier, and one with where there is none to tell; nobody
  // says what they do then.
  if (tells == releases || match.effect == Effect::unmodelled) {
    emit(Effect::unmodelled, match.form);
    return true;
  }
  unsigned width = cell_bytes(match.form.type);
  std::array<Slot, 3> work;
  for (Slot& slot : work) slot = scratch(width);
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = to;
  op.space = !releases ? Space::cluster : has("global") ? Space::global : Space::generic;
  op.element_bytes = static_cast<std::uint8_t>(width_of(match.form.type) / 8);
  op.element_count = static_cast<std::uint8_t>(count);
  op.places = {work[0].place, work[0].place, work[1].place, work[2].place, work[2].place};
  for (std::size_t i = 0; i < reductions.size(); ++i)
    if (has(reductions[i])) op.mode = reduction_modes[i];
  add_slots(op, slots);
  return true;
}

/// tensormap.replace: `[map], {ordinal,} value`; tensormap.cp_fenceproxy: `[to], [from], 128`.
bool Decoder::tensor_map(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  AsyncForm form;
  Address to, from;
  bool copies = has("cp_fenceproxy");
  if (!address(operands[0], to)) return false;
  if (copies) {
    if (!address(operands[1], from)) return false;
    if (operands[2].bits != 128) return complain(operands[2], "a tensor map has 128 bytes");
  } else {
    form.shape = now_->modifiers[2];  // replace.tile.FIELD
    bool three = operands.size() == 3;
    if (three) form.size = source(operands[1], Type::u32);
    form.value = source(operands[three ? 2 : 1], has("b64") ? Type::u64 : Type::u32);
    if (error_) return false;
  }
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.form.type = has("b64") ? Type::b64 : Type::b32;
  op.mode = copies ? Mode::sync : Mode::none;
  op.address = to;
  op.source = from;
  op.space = copies || has("global") ? Space::global
             : has("shared::cta")    ? Space::shared
                                     : Space::generic;
  return true;
}

}  // namespace lathe::ptx
