// A run in the bits domain, in parts: each is noted once it has ended well, and taken from where it
// was noted instead of being run again.

#include <algorithm>

#include "verifier_node/name_text.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node {
namespace {

/// Parts of one run, and blocks of a part at least: each part looks through all memory once.
constexpr std::size_t parts_most = 8, part_blocks_least = 4;

void join(std::string& marks, const std::string& more) {
  for (std::size_t at = more.find('\1'); at != std::string::npos;) {
    std::size_t end = std::min(more.find('\0', at), more.size());
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(at),
              marks.begin() + static_cast<std::ptrdiff_t>(end), '\1');
    at = more.find('\1', end);
  }
}

/// What a part left after what was there before it.
void join(std::optional<Replayed>& so_far, Replayed part) {
  if (so_far) {
    for (std::size_t i = 0; i < part.written.size(); ++i) join(part.written[i], so_far->written[i]);
    part.steps += so_far->steps;
    part.order_follows_all &= so_far->order_follows_all;
  }
  so_far = std::move(part);
}

std::vector<RunUnit::Piece> pieces_of(const Replayed& part) {
  std::vector<RunUnit::Piece> pieces;
  for (std::uint32_t tensor = 0; tensor < part.written.size(); ++tensor) {
    const std::string& marks = part.written[tensor];
    for (std::size_t at = marks.find('\1'); at != std::string::npos;) {
      std::size_t end = std::min(marks.find('\0', at), marks.size());
      pieces.push_back({tensor, at, part.bytes[tensor].substr(at, end - at)});
      at = marks.find('\1', end);
    }
  }
  return pieces;
}

bool fits(const RunUnit::Piece& piece, const Replayed& memory) {
  return piece.tensor < memory.written.size() && piece.at <= memory.written[piece.tensor].size() &&
         piece.bytes.size() <= memory.written[piece.tensor].size() - piece.at;
}

}  // namespace

TouchedPages Replay::touched() const {
  TouchedPages out;
  for (const Input& input : inputs_) out.emplace_back(input.touched.begin(), input.touched.end());
  return out;
}

void Replay::take_touched(const TouchedPages& touched) {
  inputs_.resize(sides_->contract->tensors.size());
  for (std::size_t i = 0; i < std::min(inputs_.size(), touched.size()); ++i) {
    std::vector<std::uint8_t>& mine = inputs_[i].touched;
    mine.resize(std::max(mine.size(), touched[i].size()));
    for (std::size_t page = 0; page < touched[i].size(); ++page)
      mine[page] |= static_cast<std::uint8_t>(touched[i][page]);
  }
}

/// Blocks that meet in memory, or are watched together, are one part.
std::size_t Replay::part_size(std::size_t blocks, const How& how) const {
  const std::vector<Tensor>& tensors = sides_->contract->tensors;
  bool alone = journal_ == nullptr || how.watch_order ||
               sides_->shape(how.side).cluster_blocks() != 1 ||
               adds_across_blocks(sides_->at(how.side)) ||
               std::any_of(tensors.begin(), tensors.end(),
                           [](const Tensor& tensor) { return tensor.role == Role::inout; });
  if (alone) return std::max<std::size_t>(1, blocks);
  return std::max(part_blocks_least, (blocks + parts_most - 1) / parts_most);
}

Digest Replay::name_of_part(Blocks blocks, Blocks before, const How& how,
                            InputClass input_class) const {
  return name_of_all(question_, std::string("run"), how.side == Side::reference,
                     static_cast<unsigned>(input_class), seed_, static_cast<unsigned>(how.schedule),
                     how.watch_order, how.steps_max,
                     std::vector<std::uint64_t>(blocks.begin(), blocks.end()),
                     std::vector<std::uint64_t>(before.begin(), before.end()));
}

bool Replay::take(const RunUnit& unit, std::optional<Replayed>& so_far) {
  take_touched(unit.touched);
  if (Result<std::uint64_t> made = fill_touched(); !made) return false;
  if (!so_far) so_far = blank(inputs_);
  if (!std::all_of(unit.pieces.begin(), unit.pieces.end(),
                   [&](const RunUnit::Piece& piece) { return fits(piece, *so_far); }))
    return false;
  for (const RunUnit::Piece& piece : unit.pieces) {
    so_far->bytes[piece.tensor].replace(piece.at, piece.bytes.size(), piece.bytes);
    so_far->written[piece.tensor].replace(piece.at, piece.bytes.size(), piece.bytes.size(), '\1');
  }
  so_far->steps += unit.steps;
  so_far->order_follows_all &= unit.follows_all;
  return true;
}

bool Replay::take_noted(const Digest& name, std::optional<Replayed>& so_far) {
  std::optional<std::string> bytes = journal_->find(name);
  if (!bytes) return false;
  std::optional<RunUnit> unit = read_unit<RunUnit>(*bytes);
  return unit && take(*unit, so_far);
}

void Replay::note_part(const Digest& name, const Digest& whole, const Replayed& part,
                       std::uint64_t steps) {
  RunUnit unit{pieces_of(part), touched(), part.order_follows_all, part.steps};
  journal_->note({name, whole, steps, unit_bytes(unit)});
}

/// What a part runs over: what was left before it, of which it has written nothing.
Replayed Replay::begun(const std::optional<Replayed>& so_far, const Inputs& inputs) const {
  if (!so_far) return blank(inputs);
  Replayed part = *so_far;
  for (std::string& marks : part.written) marks.assign(marks.size(), '\0');
  return part;
}

/// A run that reads what was not there yet is run again; `steps` are those of all.
Replayed Replay::run_until_made(Blocks blocks, const How& how,
                                const std::optional<Replayed>& so_far, std::uint64_t& steps) {
  for (;;) {
    Result<std::uint64_t> made = fill_touched();
    Replayed part;
    if (made) {
      part = begun(so_far, inputs_);
      run_once(blocks, how, part);
      steps += part.steps;
      made = fill_touched();
      if (made && *made == 0) return part;
      if (made) continue;
    }
    part.trap = ptx::Trap{};
    part.trap->kind = ptx::TrapKind::unsupported;
    part.trap->what = made.error().what;
    return part;
  }
}

void Replay::run_part(Blocks blocks, Blocks before, const How& how, std::optional<Replayed>& so_far,
                      std::vector<Beside>& beside) {
  Digest name;
  if (journal_ != nullptr) {
    name = name_of_part(blocks, before, how, class_);
    if (take_noted(name, so_far)) return beside.clear();
  }
  std::uint64_t steps = 0;
  Replayed part;
  std::vector<Replayed> others;
  if (beside.empty() || !run_beside(blocks, how, so_far, beside, part, others, steps))
    part = run_until_made(blocks, how, so_far, steps);
  ran_[static_cast<std::size_t>(how.side)] = true;
  if (journal_ != nullptr && !part.trap && part.races.empty()) note_part(name, whole_, part, steps);
  join(so_far, std::move(part));
  for (std::size_t i = 0; i < beside.size(); ++i) {
    if (journal_ != nullptr)
      note_part(name_of_part(blocks, before, how, beside[i].which.input_class),
                beside[i].which.whole, others[i], others[i].steps);
    join(beside[i].so_far, std::move(others[i]));
  }
}

Replayed Replay::run(Side side, const std::vector<std::uint64_t>& blocks,
                     ptx::AsyncSchedule schedule, bool watch_order, std::uint64_t steps_max) {
  How how{side, schedule, watch_order, steps_max};
  std::optional<Replayed> so_far;
  if (plain(how))
    if (auto known = beforehand_.extract(Asked{side, class_, blocks});
        !known.empty() && take(known.mapped(), so_far))
      return *std::move(so_far);
  so_far.reset();
  std::vector<Beside> beside = beside_of(blocks, how);
  Blocks all(blocks);
  std::size_t size = part_size(blocks.size(), how);
  for (std::size_t at = 0; !so_far || (at < all.size() && !so_far->trap); at += size)
    run_part(all.subspan(at, std::min(size, all.size() - at)), all.first(at), how, so_far, beside);
  for (Beside& other : beside)
    beforehand_[{side, other.which.input_class, blocks}] = {
        pieces_of(*other.so_far), touched(), other.so_far->order_follows_all, other.so_far->steps};
  return *std::move(so_far);
}

}  // namespace lathe::verifier_node
