#include "store/keys.h"

#include <cmath>

namespace lathe::store {
namespace {

/// Each text after its length, so that no two keys share their bytes.
void append_text(std::string& bytes, const std::string& text) {
  key_bytes::append(bytes, std::uint64_t{text.size()});
  bytes += text;
}

}  // namespace

Digest result_key(const ResultKey& key) {
  std::string bytes = "lathe result 1";
  key_bytes::append(bytes, key.candidate);
  key_bytes::append(bytes, key.contract);
  key_bytes::append(bytes, static_cast<std::uint64_t>(key.gate));
  append_text(bytes, key.parameters);
  append_text(bytes, key.toolchain);
  append_text(bytes, key.architecture);
  return sha256(bytes);
}

std::uint64_t picoseconds(double time_ns) {
  if (!(time_ns > 0)) return 0;
  double time_ps = std::round(time_ns * 1000);
  return time_ps < 9e18 ? static_cast<std::uint64_t>(time_ps) : UINT64_MAX;
}

}  // namespace lathe::store
