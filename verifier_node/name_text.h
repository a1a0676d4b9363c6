#pragma once

// Names of what is kept: digests of texts of which two are equal only if all that was put there is.

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/digest.h"

namespace lathe::verifier_node {

class NameText {
 public:
  void put(const std::string& bytes) {
    put(bytes.size());
    text_ += bytes;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void put(Number number) {
    std::array<char, sizeof number> bytes;
    std::memcpy(bytes.data(), &number, sizeof number);
    text_.append(bytes.data(), bytes.size());
  }
  template <class Element>
  void put(const std::vector<Element>& elements) {
    put(elements.size());
    for (const Element& element : elements) put(element);
  }
  void put(const Digest& digest) {
    text_.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  }
  Digest digest() const { return sha256(text_); }

 private:
  std::string text_;
};

/// The digest of these, in their order.
template <class... Parts>
Digest name_of_all(const Parts&... parts) {
  NameText text;
  (text.put(parts), ...);
  return text.digest();
}

}  // namespace lathe::verifier_node
