#pragma once

// Blobs by digest between hosts: PTX, cubins, tensors. Pulled and pushed in chunks with a credit
// window, so that memory is bounded and heartbeats are never held up; SHA-256 is checked on
// arrival, on both sides. ROUTER and DEALER over CURVE, with a list of who may connect.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "cluster/identity.h"

namespace lathe::cluster {

inline constexpr std::size_t chunk_bytes = 256u << 10;
inline constexpr std::size_t chunks_in_flight = 8;

struct BlobServerOptions {
  std::string address;  // HOST:PORT; PORT may be *.
  CurveKeys keys;
  AllowedKeys allowed;
  /// Where a blob is not on the shelf: the store, say. Called on the server's thread.
  std::function<std::optional<std::string>(const Digest&)> find;
  std::uint64_t blob_bytes_max = 1ull << 30;
  std::size_t uploads_max = 16;  // Unfinished ones of one node; the oldest gives way.
};

/// The coordinator's side. Runs on a thread of its own.
class BlobServer {
 public:
  /// Errors: unavailable where the address cannot be had.
  static Result<std::unique_ptr<BlobServer>> start(BlobServerOptions options);
  /// With the keys of a cluster's directory.
  static Result<std::unique_ptr<BlobServer>> open(const std::filesystem::path& cluster,
                                                  const std::string& address,
                                                  std::function<std::uint64_t()> now_s = {});
  ~BlobServer();

  /// Puts bytes on the shelf, for nodes to fetch.
  Digest publish(std::string bytes);
  /// What a node has sent, or was published; it stays.
  std::optional<std::string> find(const Digest& digest) const;
  /// The same, and takes it off the shelf.
  std::optional<std::string> take(const Digest& digest);
  void forget(const Digest& digest);
  /// HOST:PORT as it came to be.
  const std::string& address() const;

 private:
  struct Inside;
  explicit BlobServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

struct BlobClientOptions {
  std::string address;
  CurveKeys keys;
  std::string server_public;
  std::uint64_t blob_bytes_max = 1ull << 30;
  unsigned patience_ms = 30'000;  // Of silence, until it gives up.
};

/// A node's side; calls block and take turns.
class BlobClient {
 public:
  static Result<std::unique_ptr<BlobClient>> connect(BlobClientOptions options);
  static Result<std::unique_ptr<BlobClient>> open(const Bundle& bundle);
  ~BlobClient();

  /// Errors: unavailable where nobody answers, the server has no such blob (Absent::file) or does
  /// not let us in (Absent::permission); malformed where the bytes have another digest.
  Result<std::string> fetch(const Digest& digest);
  /// Errors: as of fetch; exhausted where it is larger than the server takes.
  Result<Digest> store(std::string_view bytes);
  /// Claims a digest that may not be that of the bytes; the server is to refuse it then.
  Result<Digest> store_as(const Digest& digest, std::string_view bytes);

 private:
  struct Inside;
  explicit BlobClient(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace lathe::cluster
