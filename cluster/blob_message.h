#pragma once

// What blob servers and clients say to one another: one record, and a second frame with the bytes
// of a chunk where there are any.

#include <cstdint>
#include <string>

#include "base/digest.h"
#include "cluster/blobs.h"

namespace lathe::cluster {

/// These numbers are on the wire: never change one, never use one again.
enum class BlobWord : std::uint8_t {
  get = 1,      // Client: the chunk at `offset`.
  chunk = 2,    // Server: here it is; `size` is the whole blob's.
  missing = 3,  // Server: there is no such blob.
  put = 4,      // Client: the chunk at `offset` of a blob of `size`.
  got = 5,      // Server: that chunk has come.
  whole = 6,    // Server: the blob is here and its digest is right.
  refused = 7,  // Server: no, and why.
};

struct BlobMessage {
  static constexpr std::uint64_t version = 1;
  BlobWord word = BlobWord::get;
  Digest digest;
  std::uint64_t offset = 0, size = 0;
  std::string reason;
  static void fields(auto& self, auto&& field) {
    field("word", self.word);
    field("digest", self.digest);
    field("offset", self.offset);
    field("size", self.size);
    field("reason", self.reason);
  }
};

inline std::uint64_t chunk_count(std::uint64_t size) {
  return size == 0 ? 1 : (size + chunk_bytes - 1) / chunk_bytes;
}
/// Of the chunk at this offset, which is a multiple of the chunk's size.
inline std::uint64_t chunk_size(std::uint64_t size, std::uint64_t offset) {
  return std::min<std::uint64_t>(chunk_bytes, size - offset);
}

}  // namespace lathe::cluster
