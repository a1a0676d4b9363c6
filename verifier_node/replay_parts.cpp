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

Digest Replay::name_of_part(Blocks blocks, Blocks before, const How& how) const {
  return name_of_all(question_, std::string("run"), how.side == Side::reference,
                     static_cast<unsigned>(class_), seed_, static_cast<unsigned>(how.schedule),
                     how.watch_order, how.steps_max,
                     std::vector<std::uint64_t>(blocks.begin(), blocks.end()),
                     std::vector<std::uint64_t>(before.begin(), before.end()));
}

bool Replay::take_noted(const Digest& name, std::optional<Replayed>& so_far) {
  std::optional<std::string> bytes = journal_->find(name);
  if (!bytes) return false;
  std::optional<RunUnit> unit = read_unit<RunUnit>(*bytes);
  if (!unit) return false;
  take_touched(unit->touched);
  if (Result<std::uint64_t> made = fill_touched(); !made) return false;
  if (!so_far) so_far = blank();
  if (!std::all_of(unit->pieces.begin(), unit->pieces.end(),
                   [&](const RunUnit::Piece& piece) { return fits(piece, *so_far); }))
    return false;
  for (const RunUnit::Piece& piece : unit->pieces) {
    so_far->bytes[piece.tensor].replace(piece.at, piece.bytes.size(), piece.bytes);
    so_far->written[piece.tensor].replace(piece.at, piece.bytes.size(), piece.bytes.size(), '\1');
  }
  so_far->steps += unit->steps;
  so_far->order_follows_all &= unit->follows_all;
  return true;
}

void Replay::note_part(const Digest& name, const Replayed& part, std::uint64_t steps) {
  RunUnit unit{pieces_of(part), touched(), part.order_follows_all, part.steps};
  journal_->note({name, whole_, steps, unit_bytes(unit)});
}

/// A run that reads what was not there yet is run again; `steps` are those of all.
Replayed Replay::run_until_made(Blocks blocks, const How& how,
                                const std::optional<Replayed>& so_far, std::uint64_t& steps) {
  for (;;) {
    Result<std::uint64_t> made = fill_touched();
    Replayed part;
    if (made) {
      part = so_far ? *so_far : blank();
      if (so_far)
        for (std::string& marks : part.written) marks.assign(marks.size(), '\0');
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

void Replay::run_part(Blocks blocks, Blocks before, const How& how,
                      std::optional<Replayed>& so_far) {
  Digest name;
  if (journal_ != nullptr) {
    name = name_of_part(blocks, before, how);
    if (take_noted(name, so_far)) return;
  }
  std::uint64_t steps = 0;
  Replayed part = run_until_made(blocks, how, so_far, steps);
  if (journal_ != nullptr && !part.trap && part.races.empty()) note_part(name, part, steps);
  join(so_far, std::move(part));
}

Replayed Replay::run(Side side, const std::vector<std::uint64_t>& blocks,
                     ptx::AsyncSchedule schedule, bool watch_order, std::uint64_t steps_max) {
  How how{side, schedule, watch_order, steps_max};
  Blocks all(blocks);
  std::size_t size = part_size(blocks.size(), how);
  std::optional<Replayed> so_far;
  for (std::size_t at = 0; !so_far || (at < all.size() && !so_far->trap); at += size)
    run_part(all.subspan(at, std::min(size, all.size() - at)), all.first(at), how, so_far);
  return *std::move(so_far);
}

}  // namespace lathe::verifier_node
