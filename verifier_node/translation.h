#pragma once

// Which blocks need not be run as numbers, because others compute the same on other elements.
// Blocks of both sides that write common elements, or one of which reads what another writes, are a
// group. Two groups whose blocks are of the same kinds (ptx/trace.h), equally far from one another
// in each tensor, differ by a renaming of the tensors' elements, each of which is a variable of its
// own: what holds of one over the reals holds of the other.

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ptx/field_point.h"
#include "ptx/trace.h"
#include "verifier_node/journal.h"
#include "verifier_node/kept.h"
#include "verifier_node/sides.h"

namespace lathe::verifier_node {

struct BlockRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  std::vector<std::uint64_t> blocks() const {
    std::vector<std::uint64_t> all(size());
    std::iota(all.begin(), all.end(), begin);
    return all;
  }
};

/// Which blocks wrote each page of 1024 elements: where a witness is looked for.
using Writers = std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::uint64_t>>;

struct TranslationRequest {
  BlockRange reference_blocks, candidate_blocks;
  std::uint64_t seed = 0, steps_max = 0;
  unsigned threads = 1;
  /// Null: nothing is noted. The name of the question, and of what is known of the tensors.
  Journal* journal = nullptr;
  Digest question;
  /// Where what the reference does is kept; null: nowhere. Its name, and that of what is known of
  /// the tensors.
  Kept* kept = nullptr;
  Digest reference, known;
};

struct Translation {
  struct Blocks {
    std::vector<std::uint64_t> reference, candidate;  // Ascending.
  };
  /// To be run: two groups of each form, which show that it is equal; and, where shadows choose
  /// among pieces of a function, so many that they see them.
  Blocks few, many;
  /// Of each side's blocks: which do the same, waits of the candidate that give up once included.
  std::vector<std::uint32_t> reference_kinds, candidate_kinds;
  /// And which group each is of.
  std::vector<std::uint32_t> reference_groups, candidate_groups;
  /// A group of each form, drawn.
  std::vector<Blocks> examples;
  bool leaves_out = false;    // Few are so many fewer than all that only they need be run.
  std::uint64_t outputs = 0;  // Elements that blocks of the reference write, those left out too.
  Writers reference_writers, candidate_writers;
};

/// Nothing where no block is known to stand for another: where control asks for data, and where
/// blocks meet in atomics or clusters.
std::optional<Translation> find_translation(const Sides& sides,
                                            const std::vector<ptx::field::Recipe>& recipes,
                                            const TranslationRequest& request);

/// Of all points: integers that are drawn differ by point, and what they decide.
class Translations {
 public:
  /// From now on what blocks do is noted there.
  void note_in(Journal* journal, const Digest& question) {
    journal_ = journal;
    question_ = question;
  }
  /// Null as above, and where too few would be left out.
  const Translation* of(const Sides& sides, const std::vector<ptx::field::Recipe>& recipes,
                        const TranslationRequest& request);
  /// What the last point found, whatever is left out.
  const Translation* last() const { return translation_ ? &*translation_ : nullptr; }

 private:
  Journal* journal_ = nullptr;
  Digest question_;
  std::string known_by_;
  bool known_ = false;
  std::optional<Translation> translation_;
};

}  // namespace lathe::verifier_node
