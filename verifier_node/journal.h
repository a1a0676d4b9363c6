#pragma once

// What a proof has finished so far, so that it goes on elsewhere where its process dies: units of
// its work, each under a digest of all that it depends on, the question first. Only what went well
// is noted (a block that ran, an input on which nothing parted): whatever refutes is found anew. A
// journal lies in a file beside a proof, or with the owner of a run's store (store/deeds.h); both
// hold units as bytes.
//
//   journal := (size:u32 unit)*         big-endian
//   unit    := {name, whole, steps, bytes, seal}    a record; bytes: zstd; seal: SHA-256 of the
//   rest

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace lathe::verifier_node {

struct Sides;    // verifier_node/sides.h
struct Options;  // verifier_node/verify.h

struct Unit {
  Digest name;
  Digest whole;             // The unit that this is a part of: once that is there, this may go.
  std::uint64_t steps = 0;  // Warp instructions that were carried out for it.
  std::string bytes;        // What came of it.
};

std::string encode(const Unit& unit);
/// Errors: malformed where the seal is another's, or the bytes are no unit.
Result<Unit> decode_unit(std::string_view bytes);

/// A unit as it stands in a journal.
std::string framed(std::string_view unit);
/// The units of a journal, as bytes. What a death cut off at the end is passed over.
/// Errors: malformed where a size is none.
Result<std::vector<std::string>> frames_of(std::string_view journal);

class Journal {
 public:
  /// Is given each unit as bytes as soon as it is finished, one after the other.
  using Sink = std::function<void(const std::string& unit)>;
  /// Beyond so many bytes nothing more is noted; nor is a unit of more than a part of them.
  static constexpr std::uint64_t bytes_most = std::uint64_t{256} << 20;

  explicit Journal(Sink sink = {}, std::uint64_t bytes_max = bytes_most)
      : sink_(std::move(sink)), bytes_max_(bytes_max) {}

  /// What an earlier process has noted. Errors: malformed where any of it is damaged: then nothing
  /// is taken, and the proof begins again.
  Result<Done> take(std::string_view journal);
  /// What came of the unit, where it is known.
  std::optional<std::string> find(const Digest& name);
  /// Whether it is known, to an earlier process or to this one.
  bool knows(const Digest& name) const;
  void note(const Unit& unit);

  /// Units that were found, and so not done again.
  std::uint64_t found() const;
  /// Warp instructions of the units that were noted here.
  std::uint64_t steps() const;

 private:
  /// What this process has finished itself it does not ask for again.
  struct Known {
    std::uint64_t size = 0;
    std::optional<std::string> bytes;
  };
  void keep(const Unit& unit, Known known);

  Sink sink_;
  mutable std::mutex lock_;
  std::map<Digest, Known> units_;
  std::multimap<Digest, Digest> parts_;  // Names by their whole's.
  std::uint64_t bytes_ = 0, bytes_max_, found_ = 0, steps_ = 0;
};

/// All that a verdict depends on: a unit of another question has another name.
Digest name_of_question(const Sides& sides, const Options& options);

}  // namespace lathe::verifier_node
