#include "cli/kept_journal.h"

#include <cstdio>

#include "base/files.h"

namespace lathe::cli {

Result<std::unique_ptr<KeptJournal>> KeptJournal::open(const std::filesystem::path& path) {
  constexpr std::uint64_t bytes_most = 4 * verifier_node::Journal::bytes_most;
  std::unique_ptr<KeptJournal> kept(new KeptJournal(path));
  kept->journal_ =
      std::make_shared<verifier_node::Journal>([out = &kept->out_](const std::string& unit) {
        // Whoever cannot write goes on all the same: what is not there is done again.
        *out << verifier_node::framed(unit) << std::flush;
      });
  std::error_code code;
  std::filesystem::create_directories(path.parent_path(), code);
  std::string whole;
  if (Result<std::string> bytes = read_file(path, bytes_most)) {
    Result<Done> taken = kept->journal_->take(*bytes);
    if (!taken)
      std::fprintf(stderr, "lathe: %s: %s; the proof begins again\n", path.c_str(),
                   taken.error().what.c_str());
    // What a death cut off at the end must not stand before what comes now.
    if (auto units = verifier_node::frames_of(*bytes); taken && units)
      for (const std::string& unit : *units) whole += verifier_node::framed(unit);
  }
  if (Result<Done> written = write_file(path, whole); !written) return written.error();
  kept->out_.open(path, std::ios::app | std::ios::binary);
  return kept;
}

void KeptJournal::remove() {
  out_.close();
  std::error_code code;
  std::filesystem::remove(path_, code);
}

}  // namespace lathe::cli
