// Addresses of tensors followed through registers, until nothing new is reached: without regard to
// the order of instructions, so that no path is forgotten.

#include "verifier_node/circumstances.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ptx/isa.h"

namespace lathe::verifier_node {
namespace {

using ptx::Effect;
using ptx::Operation;
using ptx::Program;
using ptx::Special;

class AddressFlow {
 public:
  AddressFlow(const Program& program, const Contract& contract) : program_(program) {
    for (std::size_t i = 0; i < program.parameters.size() && i < contract.parameters.size(); ++i)
      if (contract.parameters[i].tensor && !contract.parameters[i].map)
        pointers_.push_back(program.parameters[i]);
    lasting_.insert(program.uses.begin(), program.uses.end());
    for (const ptx::Constant& constant : program.constants) {
      lasting_.insert(constant.place);
      if (constant.kind == ptx::Constant::Kind::bits) constants_[constant.place] = constant.bits;
    }
  }

  std::optional<std::uint32_t> first_decision() {
    for (std::size_t before = ~std::size_t{0}; before != state();) {
      before = state();
      std::uint32_t instruction = ~std::uint32_t{0};
      for (const Operation& op : program_.operations) {
        if (op.instruction != instruction) between_.clear();
        instruction = op.instruction;
        if (decides(op)) return op.line;
      }
    }
    return std::nullopt;
  }

 private:
  std::size_t state() const { return reached_.size() + in_local_ + in_shared_; }
  bool reached(ptx::Spot place) const {
    return reached_.contains(place) || between_.contains(place);
  }
  bool reached(const ptx::Slot& slot) const { return slot.present() && reached(slot.place); }

  /// Destination and sources lie in `places`, or in `fixed`. An instruction may be several such
  /// operations, and all of its registers are noted at the first.
  static bool has_places(const Operation& op) {
    return op.effect == Effect::none || op.effect == Effect::convert;
  }
  static bool has_fixed(const Operation& op) {
    return op.effect == Effect::piece || (op.effect == Effect::move && op.fixed[1].present());
  }

  void reach(ptx::Spot place) {
    if (place != ptx::no_spot) (lasting_.contains(place) ? reached_ : between_).insert(place);
  }

  bool carry(const Operation& op) {
    if (has_places(op))
      reach(op.places[0]);
    else if (has_fixed(op))
      reach(op.fixed[0].place);
    else
      for (ptx::Spot place : program_.written(op)) reach(place);
    return false;
  }

  bool reads_reached(const Operation& op) const {
    auto any = [&](const auto& places) {
      return std::any_of(places.begin(), places.end(),
                         [&](ptx::Spot place) { return reached(place); });
    };
    if (has_places(op)) return any(std::span(op.places).subspan(1));
    return has_fixed(op) ? reached(op.fixed[1]) : any(program_.read(op));
  }

  /// A parameter that is loaded by an address of its own may be any.
  bool loads_pointer(const Operation& op) const {
    if (op.space != ptx::Space::param) return false;
    auto base = constants_.find(op.address.base.place);
    if (op.address.base.present() && base == constants_.end()) return !pointers_.empty();
    std::uint64_t begin = static_cast<std::uint64_t>(op.address.offset);
    if (op.address.base.present()) begin += base->second;
    std::uint64_t end = begin + std::uint64_t{op.element_bytes} * op.element_count;
    return std::any_of(pointers_.begin(), pointers_.end(), [&](const ptx::ParameterSlot& slot) {
      return begin < slot.offset + slot.bytes && slot.offset < end;
    });
  }

  bool has_reached_value(const Operation& op) const {
    std::span slots(program_.slots.data() + op.slot_begin, op.slot_count);
    auto any = [&](const auto& range) {
      return std::any_of(range.begin(), range.end(),
                         [&](const ptx::Slot& slot) { return reached(slot); });
    };
    return any(slots) || any(op.fixed);
  }

  bool of_meaning(const Operation& op) {
    std::string_view opcode = ptx::rows()[op.form.row].signature.opcode;
    constexpr std::array<std::string_view, 10> sums{"add",  "addc", "sub",   "subc", "$add",
                                                    "$sub", "mov",  "$selp", "selp", "cvta"};
    if (std::find(sums.begin(), sums.end(), opcode) != sums.end()) return carry(op);
    bool addend_only = !reached(op.places[1]) && !reached(op.places[2]);
    return opcode == "mad" && addend_only ? carry(op) : true;
  }

  /// Takes what the instruction passes on; true: it makes more of an address than another address.
  bool decides(const Operation& op) {
    if (op.effect == Effect::load && may_load_address(op)) return carry(op);
    if (!reads_reached(op)) return false;
    switch (op.effect) {
      case Effect::none:
        return of_meaning(op);
      case Effect::convert:
        return is_integer(op.form.type) && is_integer(op.form.other) ? carry(op) : true;
      case Effect::piece:
      case Effect::move:
      case Effect::shuffle:
        return carry(op);
      case Effect::store:
        if (!has_reached_value(op)) return false;
        in_local_ |= is_local(op);
        in_shared_ |= is_shared_address(op);
        return !is_local(op) && !is_shared_address(op);
      case Effect::atomic:
      case Effect::store_async:
        return has_reached_value(op);
      case Effect::load:
      case Effect::prefetch:
      case Effect::discard:
      case Effect::policy:
      case Effect::copy_async:
      case Effect::bulk_copy:
      case Effect::tensor_map:
      case Effect::fence:
      case Effect::load_fragment:
      case Effect::store_fragment:
        return false;
      default:
        return true;
    }
  }

  static bool is_local(const Operation& op) {
    return op.space == ptx::Space::local || op.space == ptx::Space::param;
  }
  /// Where a thread needs what another has computed, addresses go through shared memory whole.
  static bool is_shared_address(const Operation& op) {
    return op.space == ptx::Space::shared && op.element_bytes == 8;
  }
  bool may_load_address(const Operation& op) const {
    return loads_pointer(op) || (in_local_ && is_local(op)) ||
           (in_shared_ && is_shared_address(op));
  }

  const Program& program_;
  std::vector<ptx::ParameterSlot> pointers_;
  std::unordered_map<ptx::Spot, std::uint64_t> constants_;
  // Registers; what else there is lives inside of one instruction and is used again by others.
  std::unordered_set<ptx::Spot> lasting_, reached_, between_;
  // An address was stored to the thread's own memory, or to shared memory.
  bool in_local_ = false, in_shared_ = false;
};

/// What the manual calls volatile or leaves open, and the emulator gives one value.
constexpr std::array<std::pair<Special, std::string_view>, 3> open_registers{{
    {Special::warpid, "%warpid, which may change while a thread runs"},
    {Special::nwarpid, "%nwarpid, which may be more than the block's warps"},
    {Special::total_shared, "%total_smem_size, which hardware rounds up"},
}};

bool reads(const Program& program, Special special) {
  return std::any_of(program.constants.begin(), program.constants.end(),
                     [&](const ptx::Constant& constant) {
                       return constant.kind == ptx::Constant::Kind::special &&
                              constant.bits == static_cast<std::uint64_t>(special);
                     });
}

const Operation* first_with(const Program& program, Effect effect) {
  auto found = std::find_if(program.operations.begin(), program.operations.end(),
                            [&](const Operation& op) { return op.effect == effect; });
  return found == program.operations.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Circumstance> deciding_circumstance(const Program& reference,
                                                  const Program& candidate,
                                                  const Contract& contract) {
  if (std::optional<std::uint32_t> line = AddressFlow(candidate, contract).first_decision())
    return Circumstance{*line,
                        "what the address of a tensor is may decide, and the proof saw one; "
                        "compute it from indices, and only add to addresses"};
  for (const auto& [special, what] : open_registers)
    if (reads(candidate, special) && !reads(reference, special))
      return Circumstance{0, "it reads " + std::string(what) + "; compute it from %tid or %ntid"};
  const Operation* mask = first_with(candidate, Effect::active_mask);
  if (mask != nullptr && first_with(reference, Effect::active_mask) == nullptr)
    return Circumstance{mask->line,
                        "which lanes happen to run together (activemask) may decide; "
                        "name the lanes"};
  return std::nullopt;
}

}  // namespace lathe::verifier_node
