#include "base/compress.h"

#include <zstd.h>

namespace lathe {

std::string compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  // The bound was asked for above, so that only a lack of memory can end here.
  out.resize(ZSTD_isError(size) ? 0 : size);
  return out;
}

Result<std::string> decompress(std::string_view bytes, std::uint64_t bytes_max) {
  unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > bytes_max)
    return Error{Fault::malformed, "not compressed bytes of an allowed size", "", {}};
  std::string out(size, '\0');
  std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != size)
    return Error{Fault::malformed, "compressed bytes are damaged", "", {}};
  return out;
}

}  // namespace lathe
