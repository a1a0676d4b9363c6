// The members of what units hold. A structured binding names all of a struct's members, so that one
// which is added there must be added here.

#include "verifier_node/units.h"

#include "verifier_node/unit_bytes.h"

namespace lathe::verifier_node {

using namespace ptx::field;
using Outcome = FieldRunner::Outcome;

template <class A>
void pass(A& archive, Rounds& value) {
  pass(archive, value.count);
}

template <class A>
void pass(A& archive, Number& value) {
  auto& [shadow, r, term, set, numerator, denominator, valid, taint, dormant, special, signs, kind,
         fits, pending, reversed, square, rounds] = value;
  all(archive, shadow, r, term, set, numerator, denominator, valid, taint, dormant, special, signs,
      kind, fits, rounds);
  auto flags = static_cast<std::uint8_t>((pending ? 1 : 0) | (reversed ? 2 : 0) | (square ? 4 : 0));
  archive.one(flags);
  if constexpr (A::reads) {
    pending = (flags & 1) != 0;
    reversed = (flags & 2) != 0;
    square = (flags & 4) != 0;
  }
}

template <class A>
void pass(A& archive, Written& value) {
  auto& [tensor, element, number, bits, added] = value;
  all(archive, tensor, element, number, bits, added);
}

template <class A>
void pass(A& archive, Ticket& value) {
  auto& [tensor, instruction, element, wraps_at, last] = value;
  all(archive, tensor, instruction, element, wraps_at, last);
}

/// Of a block that ran: without a trap.
template <class A>
void pass(A& archive, Outcome& value) {
  auto& [trap, written, initial_reads, tickets, left_reads] = value;
  if (trap) archive.fail();
  all(archive, written, initial_reads, tickets, left_reads);
}

template <class A>
void pass(A& archive, Summary::Threshold& value) {
  auto& [r, valid, shadow, literal] = value;
  all(archive, r, valid, shadow, literal);
}

template <class A>
void pass(A& archive, Summary::Side& value) {
  auto& [comparison, instruction, negative, linear] = value;
  all(archive, comparison, instruction, negative, linear);
}

template <class A>
void pass(A& archive, Cancellation::Sums& value) {
  auto& [bits, count] = value;
  all(archive, bits, count);
}

template <class A>
void pass(A& archive, Cancellation& value) {
  auto& [by_instruction, leftover] = value;
  all(archive, by_instruction, leftover);
}

template <class A>
void pass(A& archive, Summary& value) {
  auto& [exponentials, unguarded, divisors, unsigned_divisors, comparisons, near_ties, winners,
         sentinels, integers, saturations, maxima, logarithms, roots, floors, starts, products,
         unguarded_instruction, divisor_instruction, unguarded_keys, divisor_keys,
         signed_divisor_keys, exponential_instruction, falling_instruction, square_instruction,
         falling_keys, bounded_instruction, bounding_keys, cancellation, keys_cut, bounds_cut,
         comparison_keys, thresholds, sides, winner_keys, lemmas, tied,
         largest, smallest] = value;
  all(archive, exponentials, unguarded, divisors, unsigned_divisors, comparisons, near_ties,
      winners, sentinels, integers, saturations, maxima, logarithms, roots, floors, starts,
      products, unguarded_instruction, divisor_instruction, unguarded_keys, divisor_keys,
      signed_divisor_keys, exponential_instruction, falling_instruction, square_instruction,
      falling_keys, bounded_instruction, bounding_keys, cancellation, keys_cut, bounds_cut,
      comparison_keys, thresholds, sides, winner_keys, lemmas, tied,
      largest, smallest);
}

template <class A>
void pass(A& archive, KeptBlock& value) {
  auto& [outcome, summary, literals, steps] = value;
  all(archive, outcome, summary, literals, steps);
}

template <class A>
void pass(A& archive, BlockUnit& value) {
  auto& [block, follows_all, trusts_copies] = value;
  all(archive, block, follows_all, trusts_copies);
}

template <class A>
void pass(A& archive, Difference& value) {
  auto& [kind, tensor, element, reference_block, candidate_block, reference_shadow,
         candidate_shadow] = value;
  all(archive, kind, tensor, element, reference_block, candidate_block, reference_shadow,
      candidate_shadow);
}

template <class A>
void pass(A& archive, PointResult& value) {
  auto& [difference, precision, stopped, races, trusts_copies, order_follows_all, last_blocks,
         last_runs, compared, degree, blocks, steps, peak_numbers, blocks_run, outputs, many,
         inconclusive, reference, candidate, implied, literals, reference_writers,
         candidate_writers] = value;
  if (difference || stopped || !races.empty()) archive.fail();
  all(archive, precision, trusts_copies, order_follows_all, last_blocks, last_runs, compared,
      degree, blocks, steps, peak_numbers, blocks_run, outputs, many, inconclusive, reference,
      candidate, implied, literals, reference_writers, candidate_writers);
}

template <class A>
void pass(A& archive, PointUnit& value) {
  auto& [result, sampled] = value;
  all(archive, result, sampled);
}

template <class A>
void pass(A& archive, RunUnit::Piece& value) {
  auto& [tensor, at, bytes] = value;
  all(archive, tensor, at, bytes);
}

template <class A>
void pass(A& archive, RunUnit& value) {
  auto& [pieces, touched, follows_all, steps] = value;
  all(archive, pieces, touched, follows_all, steps);
}

template <class A>
void pass(A& archive, ptx::TraceRange& value) {
  auto& [buffer, begin, end] = value;
  all(archive, buffer, begin, end);
}

template <class A>
void pass(A& archive, ptx::TraceKind& value) {
  auto& [name, written, read] = value;
  all(archive, name, written, read);
}

template <class A>
void pass(A& archive, ptx::Traces& value) {
  auto& [trap, steps, kinds, kind_of, bases] = value;
  if (trap) archive.fail();
  all(archive, steps, kinds, kind_of, bases);
}

template <class T>
std::string unit_bytes(const T& value) {
  return bytes_of(value);
}
template <class T>
std::optional<T> read_unit(std::string_view bytes) {
  return value_of<T>(bytes);
}

template std::string unit_bytes(const BlockUnit&);
template std::string unit_bytes(const PointUnit&);
template std::string unit_bytes(const RunUnit&);
template std::string unit_bytes(const TouchedPages&);
template std::string unit_bytes(const ptx::Traces&);
template std::optional<BlockUnit> read_unit(std::string_view);
template std::optional<PointUnit> read_unit(std::string_view);
template std::optional<RunUnit> read_unit(std::string_view);
template std::optional<TouchedPages> read_unit(std::string_view);
template std::optional<ptx::Traces> read_unit(std::string_view);

}  // namespace lathe::verifier_node
