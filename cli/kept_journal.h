#pragma once

// A proof's journal in a file, where `lathe verify --keep` finds it again.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/result.h"
#include "verifier_node/journal.h"

namespace lathe::cli {

class KeptJournal {
 public:
  /// What an earlier process has left in the file; one that is damaged is said and begun again.
  /// Errors: unavailable where the file cannot be written.
  static Result<std::unique_ptr<KeptJournal>> open(const std::filesystem::path& path);

  const std::shared_ptr<verifier_node::Journal>& journal() const { return journal_; }
  /// Once there is a verdict.
  void remove();

 private:
  explicit KeptJournal(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::ofstream out_;
  std::shared_ptr<verifier_node::Journal> journal_;
};

}  // namespace lathe::cli
