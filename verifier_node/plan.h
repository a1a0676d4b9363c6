#pragma once

// How many points, which kind of primes and how many levels two programs need: read off the
// instructions that they contain.

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/field_lemma.h"
#include "ptx/field_point.h"
#include "ptx/module.h"

namespace lathe::verifier_node {

struct Plan {
  bool linked = false;       // Chains of primes; otherwise three independent ones a run.
  unsigned levels = 3;       // Primes of a chain that are carried.
  unsigned points_each = 3;  // Points of one execution.
  unsigned prime_bits = 31;  // Of the first prime.
  std::uint64_t runs = 1;    // Executions of both programs, each with shadows of its own.
  std::uint64_t points = 3;  // What they count as.
  /// Integer data is words, functions of its bits; false: it is drawn.
  bool symbolic = true;
  /// In every second run some inputs are exactly what they are compared with.
  bool ties = false;
  /// More runs than one are for what shadows decide: where they decided nothing, one will do.
  bool one_if_undecided = false;
  bool strict_maximum = true;    // False: the winner by shadow, with many points.
  bool sentinels_vanish = true;  // Exponentials below 2^-10000 are 0.
  std::vector<std::uint32_t> squares;
  std::vector<double> boundaries;
  std::vector<double> thresholds;  // What the files' literals are read as, and their negatives.
  /// Literals that are read as another real than their own, with their lines.
  std::vector<std::pair<std::uint32_t, std::string>> readings;
};

/// With all primes of the chain carried.
void deepen(Plan& plan);

/// What polynomials of the two stand for.
struct Polynomials {
  bool exponential = false, logarithm = false;
  void take(const ptx::field::Lemmas& lemmas);
};

Plan make_plan(const ptx::Module& reference, const ptx::Module& candidate, const std::string& entry,
               std::uint32_t points, Polynomials polynomials = {});

}  // namespace lathe::verifier_node
