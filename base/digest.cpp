#include "base/digest.h"

#include <openssl/sha.h>

namespace lathe {

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.bytes.data());
  return digest;
}

std::string hex(const Digest& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : digest.bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::string short_hex(const Digest& digest) { return hex(digest).substr(0, 16); }

Result<Digest> parse_digest(std::string_view text) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  Digest digest;
  if (text.size() != 64)
    return Error{Fault::malformed, "a digest has 64 hexadecimal digits", "", {}};
  for (std::size_t i = 0; i < 32; ++i) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return Error{Fault::malformed, "a digest has lower-case hexadecimal digits only", "", {}};
    digest.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

}  // namespace lathe
