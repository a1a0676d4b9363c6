#pragma once

// Who may join. A cluster directory holds a private authority, the coordinator's certificate and
// keys, and what it admitted; a bundle holds all that one node needs. Nothing listens off the
// loopback without them. The chain proves "one of ours"; the bundle's secret and its CURVE key
// prove which.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace lathe::cluster {

/// Z85 text, 40 characters each.
struct CurveKeys {
  std::string public_key, secret_key;
};
CurveKeys make_curve_keys();

/// Files in PEM form, as CAF wants them.
struct TlsFiles {
  std::filesystem::path certificate, key, authority;
};

/// What a node is given. The file is of mode 600; who holds it is the node.
struct Bundle {
  static constexpr std::uint64_t version = 1;
  std::string name;
  std::string authority_pem, certificate_pem, key_pem;
  std::string curve_public, curve_secret, coordinator_curve_public;
  std::string address;        // HOST:PORT of the coordinator.
  std::string blob_address;   // HOST:PORT, the next port.
  std::string event_address;  // HOST:PORT, the one after.
  std::string secret;         // Said in `hello`.
  std::uint64_t expires_s = 0;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("authority_pem", self.authority_pem);
    field("certificate_pem", self.certificate_pem);
    field("key_pem", self.key_pem);
    field("curve_public", self.curve_public);
    field("curve_secret", self.curve_secret);
    field("coordinator_curve_public", self.coordinator_curve_public);
    field("address", self.address);
    field("blob_address", self.blob_address);
    field("event_address", self.event_address);
    field("secret", self.secret);
    field("expires_s", self.expires_s);
  }
};

/// What the coordinator knows of an admitted node.
struct Admission {
  static constexpr std::uint64_t version = 1;
  std::string name, curve_public;
  Digest secret;  // SHA-256 of the bundle's.
  std::uint64_t expires_s = 0;
  bool revoked = false;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("curve_public", self.curve_public);
    field("secret", self.secret);
    field("expires_s", self.expires_s);
    field("revoked", self.revoked);
  }
};

struct Cluster {
  TlsFiles tls;
  CurveKeys curve;
  std::vector<Admission> admitted;  // By name.
};

inline constexpr std::uint64_t bundle_days = 90;

// `now_s` is the time of day in seconds since 1970, UTC.

/// Makes the directory, whole or not at all.
Result<Done> init_cluster(const std::filesystem::path& directory, std::uint64_t now_s);
/// Writes the bundle file and remembers the node. The name of an admitted node is refused; that of
/// a revoked or expired one is given again.
Result<Bundle> admit_node(const std::filesystem::path& directory, const std::string& name,
                          const std::string& address, const std::filesystem::path& bundle_file,
                          std::uint64_t now_s);
/// Errors: malformed where no such node was admitted.
Result<Done> revoke_node(const std::filesystem::path& directory, const std::string& name);
/// Errors: unavailable (Absent::permission) where others can read its keys.
Result<Cluster> open_cluster(const std::filesystem::path& directory);
/// Errors: unavailable (Absent::permission) where others can read it or it has expired.
Result<Bundle> open_bundle(const std::filesystem::path& file, std::uint64_t now_s);
/// The bundle's certificate, key and authority as files of mode 600 in a directory of the caller's.
Result<TlsFiles> write_tls(const Bundle& bundle, const std::filesystem::path& directory);

/// Whether a `hello` is of the node it claims: admitted, not revoked, not expired, secret right.
/// Errors: unavailable (Absent::permission) with the reason.
Result<Done> check_hello(const Cluster& cluster, std::string_view node, std::string_view secret,
                         std::uint64_t now_s);

/// A key that may connect, and the name that it stands for.
struct AllowedKey {
  std::string name, curve_public;
};
/// Of the nodes that are neither revoked nor expired.
std::vector<AllowedKey> allowed_keys(const Cluster& cluster, std::uint64_t now_s);

/// Who may connect at this moment; nothing where that cannot be told.
using AllowedKeys = std::function<std::optional<std::vector<AllowedKey>>()>;
/// Of the cluster's directory, read anew each time, so that a node may be admitted or revoked while
/// others work. Without a clock (seconds since 1970) expiry is left to `check_hello`.
AllowedKeys keys_of_directory(const std::filesystem::path& directory,
                              std::function<std::uint64_t()> now_s);

/// HOST:PORT with the port so many further. Errors: malformed.
Result<std::string> port_after(std::string_view address, unsigned steps);
bool is_loopback(std::string_view address);

}  // namespace lathe::cluster
