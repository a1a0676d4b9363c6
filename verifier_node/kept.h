#pragma once

// What references gave, at points and on stress inputs, and did without data: a further candidate
// against the same reference then costs only its own runs. Names are digests of all that a run
// depends on.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/digest.h"
#include "ptx/field_run.h"
#include "ptx/trace.h"
#include "verifier_node/plan.h"
#include "verifier_node/sides.h"

namespace lathe::verifier_node {

struct Replayed;

/// One block at one point.
struct KeptBlock {
  ptx::field::FieldRunner::Outcome outcome;
  ptx::field::Summary summary;
  std::vector<std::uint32_t> literals;
  std::uint64_t steps = 0;
  std::uint64_t bytes() const;
};

/// May be used by several threads. What no longer fits is not kept.
class Kept {
 public:
  explicit Kept(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  std::shared_ptr<const KeptBlock> block(const Digest& point, std::uint64_t block) const;
  void keep(const Digest& point, std::uint64_t block, std::shared_ptr<const KeptBlock> kept);
  std::shared_ptr<const Replayed> run(const Digest& input) const;
  void keep(const Digest& input, std::shared_ptr<const Replayed> kept, std::uint64_t bytes);
  std::shared_ptr<const ptx::Traces> traces(const Digest& name) const;
  void keep(const Digest& name, std::shared_ptr<const ptx::Traces> kept);

 private:
  bool fits(std::uint64_t bytes);

  mutable std::mutex lock_;
  std::map<std::pair<Digest, std::uint64_t>, std::shared_ptr<const KeptBlock>> blocks_;
  std::map<Digest, std::shared_ptr<const Replayed>> runs_;
  std::map<Digest, std::shared_ptr<const ptx::Traces>> traces_;
  std::uint64_t bytes_ = 0, bytes_max_;
};

/// The reference, how it is launched, and what its inputs are drawn from.
Digest name_of_reference(const Sides& sides);
Digest name_of_point(const Digest& reference, const Plan& plan, std::uint64_t seed,
                     std::uint64_t point, std::uint64_t steps_max);
Digest name_of_input(const Digest& reference, unsigned input_class, std::uint64_t seed,
                     const std::vector<std::uint64_t>& blocks);

}  // namespace lathe::verifier_node
