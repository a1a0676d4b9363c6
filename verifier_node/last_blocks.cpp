// Choosing last blocks, and comparing what they write.

#include "verifier_node/last_blocks.h"

#include <algorithm>

#include "base/random.h"

namespace lathe::verifier_node {

using ptx::field::Written;

namespace {

constexpr std::uint64_t choice_stream = 0x1A57;

ptx::Trap trap_of(std::uint64_t block, std::string what) {
  ptx::Trap trap;
  trap.kind = ptx::TrapKind::undecided;
  trap.block = block;
  trap.what = std::move(what);
  return trap;
}

bool equal(const Written& a, const Written& b) {
  return a.tensor == b.tensor && a.element == b.element && a.bits == b.bits && a.added == b.added &&
         a.number.r == b.number.r && a.number.valid == b.number.valid &&
         a.number.special == b.number.special;
}

bool all_equal(const std::vector<Written>& a, const std::vector<Written>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal);
}

/// Some of these: all, or as many as are asked for, which nobody can foresee.
std::vector<std::uint64_t> chosen(std::vector<std::uint64_t> blocks, std::uint64_t choices,
                                  std::uint64_t draw) {
  if (choices >= blocks.size()) return blocks;
  for (std::uint64_t i = 0; i < choices; ++i)
    std::swap(blocks[i], blocks[i + philox64(draw, choice_stream, i) % (blocks.size() - i)]);
  blocks.resize(choices);
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

}  // namespace

bool LastBlocks::note(std::uint64_t block, const ptx::field::FieldRunner::Outcome& outcome) {
  for (const auto& [tensor, element] : outcome.initial_reads)
    read_.try_emplace(ptx::field::place_of(tensor, element), block);
  if (outcome.tickets.empty()) return true;
  if (outcome.tickets.size() > 1) return false;
  const ptx::field::Ticket& ticket = outcome.tickets.front();
  Group& group = groups_[ptx::field::place_of(ticket.tensor, ticket.element)];
  if (group.blocks.empty()) group.ticket = ticket;
  group.one_question &=
      group.ticket.last == ticket.last && group.ticket.wraps_at == ticket.wraps_at;
  group.blocks.push_back(block);
  ++blocks_;
  for (Written written : outcome.written) {
    written.number.term = written.number.set = 0;
    written.number.reversed = false;
    auto [element, fresh] =
        left_.elements.try_emplace(ptx::field::place_of(written.tensor, written.element),
                                   ptx::field::Left::Element{written, block});
    if (!fresh) element->second.written.added = true;  // Of several.
  }
  return true;
}

LastBlocks::Found LastBlocks::run_one(ptx::field::FieldRunner& runner, const Group& group,
                                      std::uint64_t block) const {
  Found found;
  found.block = block;
  ptx::field::FieldRunner::Outcome outcome = runner.run(block, {true, &left_});
  found.trap = outcome.trap;
  if (found.trap) return found;
  for (std::uint64_t place : outcome.left_reads)
    if (!std::binary_search(group.blocks.begin(), group.blocks.end(),
                            left_.elements.at(place).block)) {
      found.trap = trap_of(block, "the last block reads what a block of another counter left");
      return found;
    }
  for (Written& written : outcome.written) {
    auto before = left_.elements.find(ptx::field::place_of(written.tensor, written.element));
    bool left_by_it = before != left_.elements.end() && before->second.block == block &&
                      equal(before->second.written, written);
    if (!left_by_it) found.written.push_back(std::move(written));
  }
  finish_counter(group, found);
  return found;
}

/// The counter ends as the last block left it: by a store, or by its ticket.
void LastBlocks::finish_counter(const Group& group, Found& found) const {
  const ptx::field::Ticket& ticket = group.ticket;
  auto counter = std::find_if(found.written.begin(), found.written.end(), [&](const Written& w) {
    return w.tensor == ticket.tensor && w.element == ticket.element;
  });
  Written end;
  end.tensor = ticket.tensor;
  end.element = ticket.element;
  end.bits = group.blocks.size();
  if (ticket.wraps_at && *ticket.wraps_at + 1 == group.blocks.size()) end.bits = 0;
  if (counter != found.written.end()) {
    end = *counter;
    found.written.erase(counter);
  }
  // It was 0 before, so that 0 is as if nobody had written it.
  if (end.bits != 0 || end.number.valid != 0) found.written.push_back(end);
}

std::vector<LastBlocks::Found> LastBlocks::run(ptx::field::FieldRunner& runner,
                                               std::uint64_t choices, std::uint64_t draw) {
  std::vector<Found> out;
  for (auto& [place, group] : groups_) {
    std::sort(group.blocks.begin(), group.blocks.end());
    std::uint64_t block = group.blocks.front(), count = group.blocks.size();
    const ptx::field::Ticket& ticket = group.ticket;
    if (auto reader = read_.find(place); reader != read_.end()) {
      out.push_back({{},
                     reader->second,
                     trap_of(reader->second,
                             "a counter of tickets is read, and has no one value")});
      return out;
    }
    bool adds_up =
        group.one_question && (!ticket.last || *ticket.last + 1 == count) &&
        (!ticket.wraps_at || *ticket.wraps_at + 1 >= count) &&
        std::adjacent_find(group.blocks.begin(), group.blocks.end()) == group.blocks.end();
    if (!adds_up) {
      out.push_back({{},
                     block,
                     trap_of(block,
                             "the number that a ticket is compared with is not that of the "
                             "last of " +
                                 std::to_string(count) + " blocks")});
      return out;
    }
    std::optional<Found> one;
    for (std::uint64_t last : chosen(group.blocks, choices, draw)) {
      ++runs_;
      Found found = run_one(runner, group, last);
      if (!found.trap && one && !all_equal(one->written, found.written))
        found.trap = trap_of(last, "what is written depends on which block is the last");
      if (found.trap) {
        out.push_back(std::move(found));
        return out;
      }
      if (!one) one = std::move(found);
    }
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace lathe::verifier_node
