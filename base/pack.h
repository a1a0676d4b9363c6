#pragma once

// msgpack with limits: every map that crosses a process or lies in the store goes through here.
// A struct declares its members once with MSGPACK_DEFINE_MAP. Include it in .cpp files only.

#include <exception>
#include <msgpack.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

/// What a message of a peer may hold; hostile bytes meet these before any memory is taken.
struct PackLimits {
  std::size_t array = 1u << 16, map = 1u << 10, string = 64u << 20, depth = 16;
};

template <class T>
std::string pack(const T& value) {
  msgpack::sbuffer buffer;
  msgpack::pack(buffer, value);
  return {buffer.data(), buffer.size()};
}

template <class T>
Result<T> unpack(std::string_view bytes, PackLimits limits = {}) {
  try {
    msgpack::unpack_limit bound(limits.array, limits.map, limits.string, limits.string, 0,
                                limits.depth);
    std::size_t offset = 0;
    auto handle = msgpack::unpack(bytes.data(), bytes.size(), offset, nullptr, nullptr, bound);
    if (offset != bytes.size()) return Error{Fault::malformed, "bytes follow the message", "", {}};
    T value;
    handle.get().convert(value);
    return value;
  } catch (const std::exception& exception) {
    return Error{
        Fault::malformed, std::string("not a message of this kind: ") + exception.what(), "", {}};
  }
}

}  // namespace lathe
