#pragma once

// X.509 certificates of a private authority: P-256 keys, signed with SHA-256.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace lathe::cluster {

struct Certificate {
  std::string certificate_pem, key_pem;
};

/// Signs itself; good for ten years.
Result<Certificate> make_authority(std::uint64_t now_s);
/// Signed by the authority, for both ends of a connection.
Result<Certificate> make_certificate(const Certificate& authority, const std::string& name,
                                     std::uint64_t now_s, std::uint64_t days);
/// Whether the certificate is of this authority and good at this time.
Result<Done> check_certificate(const std::string& authority_pem, const std::string& certificate_pem,
                               std::uint64_t now_s);
/// Random bytes of the operating system, as hexadecimal digits.
Result<std::string> random_hex(std::size_t bytes);

}  // namespace lathe::cluster
