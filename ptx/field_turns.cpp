// Tickets, and what the last block finds.

#include "ptx/field_turns.h"

#include <algorithm>
#include <bit>

#include "ptx/field.h"
#include "ptx/program.h"

namespace lathe::ptx::field {

void TurnOrder::begin(const Program& program, std::uint32_t threads, bool last) {
  *this = TurnOrder();
  last_ = last;
  program_ = &program;
  threads_ = threads;
}

void TurnOrder::on_fence(std::uint32_t warp, Mask mask, char scope, Proxy proxy) {
  ++now_;
  if (proxy != Proxy::generic || (scope != 'g' && scope != 's')) return;
  each_thread(warp, mask, [&](std::uint32_t thread) { fenced_[thread] = now_; });
}

void TurnOrder::on_barrier_complete(std::span<const Mask> arrived) {
  ++now_;
  std::uint32_t count = 0;
  for (Mask mask : arrived) count += static_cast<std::uint32_t>(std::popcount(mask));
  if (count == threads_) barrier_ = now_;
}

void TurnOrder::on_write(const Access& access) {
  ++now_;
  if (taker_ && !last_) return miss("a block that is not the last writes after its ticket");
  each_thread(access.warp, access.mask, [&](std::uint32_t thread) { wrote_[thread] = now_; });
}

void TurnOrder::on_ticket(const Access& access) {
  ++now_;
  if (std::popcount(access.mask) != 1 || taker_) return miss("several threads take tickets");
  taker_ = access.warp * lane_count + static_cast<unsigned>(std::countr_zero(access.mask));
  taken_ = now_;
  const std::string& text = program_->texts[program_->operations[access.instruction].instruction];
  auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  bool wide = !has(".cta") && !has(".cluster");
  bool releases = wide && (has(".acq_rel") || has(".release"));
  acquires_ = wide && (has(".acq_rel") || has(".acquire"));
  std::uint64_t fenced = fenced_.contains(*taker_) ? fenced_[*taker_] : 0;
  for (const auto& [thread, when] : wrote_) {
    bool own = thread == *taker_;
    if (!own && barrier_ < when)
      return miss("no barrier of the block stands between what its threads left and its ticket");
    if (!releases && fenced < (own ? when : barrier_))
      return miss("no fence of the GPU stands between what the block left and its ticket");
  }
}

void TurnOrder::on_read(const Access& access) {
  ++now_;
  if (!taker_) return miss("what other blocks left is read before the ticket was taken");
  std::uint64_t fenced = fenced_.contains(*taker_) ? fenced_[*taker_] : 0;
  std::uint64_t acquired = acquires_ ? taken_ : fenced > taken_ ? fenced : 0;
  if (acquired == 0)
    return miss("no fence of the GPU stands between the ticket and what other blocks left");
  if (access.read_only) return miss("what other blocks left is read as if nobody wrote it");
  each_thread(access.warp, access.mask, [&](std::uint32_t thread) {
    if (thread != *taker_ && barrier_ < acquired)
      miss("no barrier of the block stands between its ticket and what other blocks left");
  });
}

// Of the domain.

bool Field::takes_ticket(const Region& region, std::uint64_t offset, Lanes& lanes,
                         const Operation& op, unsigned lane) {
  bool counts = op.mode == Mode::add || op.mode == Mode::increment;
  if (region.tensor < 0 || !counts || op.flag || op.element_count > 1) return false;
  if (!is_integer(op.form.type) || width_of(op.form.type) != 32 || offset % 4 != 0) return false;
  auto tensor = static_cast<std::size_t>(region.tensor);
  const Recipe& recipe = point_->recipes()[tensor];
  if (recipe.output || recipe.computed || !recipe.changes || offset + 4 > recipe.bytes.size() ||
      recipe.bytes.compare(offset, 4, std::string(4, '\0')) != 0)
    return false;
  auto at = [&](std::size_t place) {
    return Cell{op.places[place], 4, 0, static_cast<std::uint8_t>(lane)};
  };
  std::optional<std::uint64_t> addend = exact(lanes, at(3), 4);
  if (!addend || (op.mode == Mode::add && *addend != 1)) return false;
  Ticket ticket;
  ticket.tensor = static_cast<std::uint32_t>(tensor);
  ticket.element = offset / 4;
  ticket.instruction = static_cast<std::uint32_t>(arithmetic_.instruction());
  if (op.mode == Mode::increment) ticket.wraps_at = static_cast<std::uint32_t>(*addend);
  tickets_.push_back(ticket);
  Tag* tags = &lanes.settled(at(1).at(), 4).tags[at(1).at()];
  for (unsigned i = 0; i < 4; ++i) tags[i] = ticket_id << 3 | i;
  return true;
}

bool Field::ticket_is(std::uint32_t value) {
  if (tickets_.size() != 1 || (tickets_[0].last && *tickets_[0].last != value)) {
    complain(ComplaintKind::undecided, "a ticket is compared with several numbers");
    return false;
  }
  tickets_[0].last = value;
  return turn_.last;
}

/// Of what other blocks left: false where they left nothing there.
bool Field::fetch_left(std::size_t tensor, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                       unsigned bytes) {
  if (turn_.left == nullptr) return false;
  Type type = point_->recipes()[tensor].type;
  unsigned width = std::max(1u, width_of(type) / 8);
  std::uint32_t id = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    std::uint64_t place = place_of(static_cast<std::uint32_t>(tensor), (offset + i) / width);
    auto byte = static_cast<unsigned>((offset + i) % width);
    auto found = turn_.left->elements.find(place);
    if (found == turn_.left->elements.end()) return false;
    if (i == 0 || byte == 0) left_reads_.push_back(place);
    const Written& written = found->second.written;
    if (written.added)
      complain(ComplaintKind::unsupported, "the last block reads what several blocks wrote");
    bool number = holds_number(type) || written.number.valid != 0;
    if (number && (i == 0 || byte == 0)) id = keep(written.number);
    bits[i] = number ? 0 : static_cast<std::uint8_t>(written.bits >> (8 * byte));
    tags[i] = !number ? 0 : id == poison_id() ? poison_tag : id << 3 | byte;
  }
  return true;
}

}  // namespace lathe::ptx::field
