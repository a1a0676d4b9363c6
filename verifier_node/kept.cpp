// Keeping what references gave, and the names that it is found by.

#include "verifier_node/kept.h"

#include "verifier_node/name_text.h"

namespace lathe::verifier_node {

std::uint64_t KeptBlock::bytes() const {
  constexpr std::uint64_t key_bytes = 48;
  return sizeof *this + outcome.written.size() * sizeof(ptx::field::Written) +
         outcome.initial_reads.size() * 16 + literals.size() * 4 +
         key_bytes *
             (summary.unguarded_keys.size() + summary.divisor_keys.size() +
              summary.comparison_keys.size() + summary.sides.size() + summary.winner_keys.size());
}

std::shared_ptr<const KeptBlock> Kept::block(const Digest& point, std::uint64_t block) const {
  std::lock_guard<std::mutex> guard(lock_);
  auto found = blocks_.find({point, block});
  return found == blocks_.end() ? nullptr : found->second;
}

bool Kept::fits(std::uint64_t bytes) {
  if (bytes_ + bytes > bytes_max_) return false;
  bytes_ += bytes;
  return true;
}

void Kept::keep(const Digest& point, std::uint64_t block, std::shared_ptr<const KeptBlock> kept) {
  std::lock_guard<std::mutex> guard(lock_);
  if (fits(kept->bytes())) blocks_.try_emplace({point, block}, std::move(kept));
}

std::shared_ptr<const Replayed> Kept::run(const Digest& input) const {
  std::lock_guard<std::mutex> guard(lock_);
  auto found = runs_.find(input);
  return found == runs_.end() ? nullptr : found->second;
}

void Kept::keep(const Digest& input, std::shared_ptr<const Replayed> kept, std::uint64_t bytes) {
  std::lock_guard<std::mutex> guard(lock_);
  if (fits(bytes)) runs_.try_emplace(input, std::move(kept));
}

std::shared_ptr<const ptx::Traces> Kept::traces(const Digest& name) const {
  std::lock_guard<std::mutex> guard(lock_);
  auto found = traces_.find(name);
  return found == traces_.end() ? nullptr : found->second;
}

void Kept::keep(const Digest& name, std::shared_ptr<const ptx::Traces> kept) {
  std::uint64_t bytes = sizeof *kept + kept->kind_of.size() * 4 + kept->bases.size() * 8;
  for (const ptx::TraceKind& kind : kept->kinds)
    bytes += sizeof kind + (kind.written.size() + kind.read.size()) * sizeof(ptx::TraceRange);
  std::lock_guard<std::mutex> guard(lock_);
  if (fits(bytes)) traces_.try_emplace(name, std::move(kept));
}

Digest name_of_reference(const Sides& sides) {
  NameText text;
  text.put(print_contract(*sides.contract));
  text.put(ptx::print(*sides.reference.module));
  text.put(sides.parameters);
  const Launch& launch = sides.reference.launch;
  for (const auto& triple : {launch.grid, launch.block, launch.cluster})
    for (std::uint32_t extent : triple) text.put(extent);
  text.put(launch.dynamic_shared_bytes);
  return text.digest();
}

Digest name_of_point(const Digest& reference, const Plan& plan, std::uint64_t seed,
                     std::uint64_t point, std::uint64_t steps_max) {
  NameText text;
  text.put(reference);
  for (std::uint64_t number : {seed, point, steps_max}) text.put(number);
  for (unsigned number : {plan.levels, plan.points_each, plan.prime_bits}) text.put(number);
  for (bool flag :
       {plan.linked, plan.symbolic, plan.ties, plan.strict_maximum, plan.sentinels_vanish})
    text.put(flag);
  text.put(plan.squares);
  text.put(plan.boundaries);
  return text.digest();
}

Digest name_of_input(const Digest& reference, unsigned input_class, std::uint64_t seed,
                     const std::vector<std::uint64_t>& blocks) {
  NameText text;
  text.put(reference);
  text.put(input_class);
  text.put(seed);
  text.put(blocks);
  return text.digest();
}

}  // namespace lathe::verifier_node
