// Runs in the bits domain on several inputs at once: those that follow the one in use are likely to
// do the same instructions, at the same addresses.

#include <algorithm>
#include <cstring>

#include "ptx/emulate.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node {
namespace {

/// Memory of inputs and outputs that are there at once; and runs at once, whose registers fill the
/// caches.
constexpr std::uint64_t bytes_at_once = std::uint64_t{64} << 20;
constexpr std::size_t runs_most = 16;

}  // namespace

void Replay::expect_nothing() {
  following_.clear();
  others_.clear();
  beforehand_.clear();
}

/// By what each has of its own: the inputs' pages that are touched, and the outputs, twice where
/// they come in parts.
std::size_t Replay::runs_at_once() const {
  std::uint64_t each = 1;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    for (std::uint8_t touched : inputs_[i].touched)
      each += touched * ptx::FootprintObserver::page_bytes;
    if (tensor.role != Role::input) each += (journal_ != nullptr ? 4 : 2) * tensor.span_bytes();
  }
  return std::clamp<std::size_t>(bytes_at_once / each, 1, runs_most);
}

/// Whether the pages that a run will touch are there, as far as can be told.
bool Replay::likely_made(Side side) const {
  return side == Side::candidate || ran_[static_cast<std::size_t>(side)] ||
         std::all_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.whole || input.bytes == nullptr; });
}

/// The inputs that follow on which these blocks are run at once with the one in use.
std::vector<Replay::Beside> Replay::beside_of(const std::vector<std::uint64_t>& blocks,
                                              const How& how) {
  std::vector<Beside> out;
  if (!plain(how) || parted_[static_cast<std::size_t>(how.side)]) return out;
  std::size_t most = runs_at_once();
  for (const Following& next : following_) {
    if (out.size() + 1 >= most) break;
    if (next.input_class == class_ || beforehand_.contains({how.side, next.input_class, blocks}))
      continue;
    std::shared_ptr<const Replayed> known;
    if (kept_ != nullptr)
      known = kept_->run(
          name_of_input(reference_, static_cast<unsigned>(next.input_class), seed_, blocks));
    if (how.side == Side::reference && known != nullptr) continue;
    auto [made, fresh] = others_.try_emplace(next.input_class);
    if (fresh) {
      prepare(made->second);
      if (known != nullptr) take_inputs(made->second, known->inputs);
    }
    out.push_back({next, &made->second, std::nullopt});
  }
  return out;
}

/// One run of all on what is there of their inputs; warp instructions of each, or nothing where
/// they part or one of them traps.
std::optional<std::uint64_t> Replay::run_at_once(Blocks blocks, const How& how,
                                                 std::vector<Replayed*> parts,
                                                 const std::vector<const Inputs*>& inputs) {
  std::vector<Memory> memory;
  for (std::size_t i = 0; i < parts.size(); ++i) memory.push_back(memory_of(*inputs[i], *parts[i]));
  ptx::FootprintObserver footprint = footprint_of(*parts.front());
  std::optional<std::uint64_t> steps = ptx::emulate_several(run_of(how), memory, blocks, footprint);
  take_pages(footprint);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i]->steps = steps.value_or(0);
    if (i != 0) parts[i]->written = parts.front()->written;
  }
  return steps;
}

/// As run_until_made, with `others` beside it. False: nothing was run that can be used. Where the
/// runs part, `beside` becomes empty, and from then on they go one by one.
bool Replay::run_beside(Blocks blocks, const How& how, const std::optional<Replayed>& so_far,
                        std::vector<Beside>& beside, Replayed& part, std::vector<Replayed>& others,
                        std::uint64_t& steps) {
  bool done = false;
  if (!likely_made(how.side)) {
    if (!fill_touched()) return beside.clear(), false;
    part = begun(so_far, inputs_);
    run_once(blocks, how, part);
    steps += part.steps;
    Result<std::uint64_t> made = fill_touched();
    done = made && *made == 0;
    if (!made || (done && (part.trap || beside.size() < 2))) return beside.clear(), done;
  }
  for (;;) {
    bool made = static_cast<bool>(fill_touched());
    for (Beside& other : beside) made = made && fill(*other.inputs, other.which.input_class, true);
    if (!made) return beside.clear(), done;
    std::vector<Replayed*> parts;
    std::vector<const Inputs*> inputs;
    others.clear();
    for (const Beside& other : beside) others.push_back(begun(other.so_far, *other.inputs));
    if (!done) {
      part = begun(so_far, inputs_);
      parts.push_back(&part);
      inputs.push_back(&inputs_);
    }
    for (std::size_t i = 0; i < beside.size(); ++i) {
      parts.push_back(&others[i]);
      inputs.push_back(beside[i].inputs);
    }
    std::optional<std::uint64_t> each = run_at_once(blocks, how, parts, inputs);
    Result<std::uint64_t> missing = fill_touched();
    if (!missing) return beside.clear(), done;
    if (*missing != 0) continue;
    if (!each) {
      parted_[static_cast<std::size_t>(how.side)] = true;
      return beside.clear(), done;
    }
    if (!done) steps += *each;
    return true;
  }
}

}  // namespace lathe::verifier_node
