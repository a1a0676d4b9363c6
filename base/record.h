#pragma once

// Structs as versioned msgpack maps: what lies in the store and what crosses the farm. A struct
// says its version and lists its members once, by name; the reader refuses a newer version, a
// missing member and a wrong type, and passes over names that it does not know. Include it in .cpp
// files only.
//
//   struct Hello {
//     static constexpr std::uint64_t version = 2;
//     std::string node;
//     std::uint64_t credit = 0;
//     static void fields(auto& self, auto&& field) {
//       field("node", self.node);
//       field("credit", self.credit, 2);  // Absent from version 1, where it keeps its default.
//     }
//   };

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/digest.h"
#include "base/pack.h"

namespace lathe {
namespace record {

template <class T>
concept Struct = requires(T& value) {
  T::version;
  T::fields(value, [](auto&&...) {});
};

using Packer = msgpack::packer<msgpack::sbuffer>;

inline void write(Packer& out, const Digest& digest) {
  out.pack_bin(static_cast<std::uint32_t>(digest.bytes.size()));
  out.pack_bin_body(reinterpret_cast<const char*>(digest.bytes.data()),
                    static_cast<std::uint32_t>(digest.bytes.size()));
}
inline void write(Packer& out, const std::string& text) { out.pack(text); }
inline void write(Packer& out, bool truth) { out.pack(truth); }
inline void write(Packer& out, double number) { out.pack_double(number); }

template <class T>
requires std::is_integral_v<T>
void write(Packer& out, T number) { out.pack(number); }
template <class T>
requires std::is_enum_v<T>
void write(Packer& out, T value) { out.pack(static_cast<std::uint64_t>(value)); }
template <class T>
void write(Packer& out, const std::vector<T>& values);
template <Struct T>
void write(Packer& out, const T& value);

template <class T>
void write(Packer& out, const std::vector<T>& values) {
  out.pack_array(static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) write(out, value);
}

template <Struct T>
void write(Packer& out, const T& value) {
  std::uint32_t count = 1;
  T::fields(value, [&](auto&&...) { ++count; });
  out.pack_map(count);
  out.pack(std::string_view("v"));
  out.pack(std::uint64_t{T::version});
  T::fields(value, [&](std::string_view name, const auto& member, std::uint64_t = 1) {
    out.pack(name);
    write(out, member);
  });
}

using Complaint = std::optional<Error>;

inline Error wrong(std::string what, Fault fault = Fault::malformed) {
  return {fault, std::move(what), "", {}};
}

inline Complaint read(const msgpack::object& in, Digest& digest) {
  if (in.type != msgpack::type::BIN || in.via.bin.size != digest.bytes.size())
    return wrong("not a digest");
  std::copy_n(in.via.bin.ptr, digest.bytes.size(), digest.bytes.begin());
  return {};
}
inline Complaint read(const msgpack::object& in, std::string& text) {
  if (in.type != msgpack::type::STR) return wrong("not a text");
  text.assign(in.via.str.ptr, in.via.str.size);
  return {};
}
inline Complaint read(const msgpack::object& in, bool& truth) {
  if (in.type != msgpack::type::BOOLEAN) return wrong("not a truth value");
  truth = in.via.boolean;
  return {};
}
inline Complaint read(const msgpack::object& in, double& number) {
  // The library writes a whole number as an integer, though it was given a double.
  if (in.type == msgpack::type::FLOAT64)
    number = in.via.f64;
  else if (in.type == msgpack::type::POSITIVE_INTEGER)
    number = static_cast<double>(in.via.u64);
  else if (in.type == msgpack::type::NEGATIVE_INTEGER)
    number = static_cast<double>(in.via.i64);
  else
    return wrong("not a real number");
  return {};
}
template <class T>
requires std::is_integral_v<T> Complaint read(const msgpack::object& in, T& number) {
  if (in.type == msgpack::type::POSITIVE_INTEGER && std::in_range<T>(in.via.u64)) {
    number = static_cast<T>(in.via.u64);
    return {};
  }
  if (in.type == msgpack::type::NEGATIVE_INTEGER && std::in_range<T>(in.via.i64)) {
    number = static_cast<T>(in.via.i64);
    return {};
  }
  return wrong("not a whole number of this size");
}
template <class T>
requires std::is_enum_v<T> Complaint read(const msgpack::object& in, T& value) {
  std::underlying_type_t<T> number{};
  Complaint complaint = read(in, number);
  value = static_cast<T>(number);
  return complaint;
}
template <class T>
Complaint read(const msgpack::object& in, std::vector<T>& values);
template <Struct T>
Complaint read(const msgpack::object& in, T& value);

template <class T>
Complaint read(const msgpack::object& in, std::vector<T>& values) {
  if (in.type != msgpack::type::ARRAY) return wrong("not a list");
  values.assign(in.via.array.size, T{});
  for (std::uint32_t i = 0; i < in.via.array.size; ++i)
    if (Complaint complaint = read(in.via.array.ptr[i], values[i])) return complaint;
  return {};
}

/// The first member of that name; later ones are passed over.
inline const msgpack::object* find(const msgpack::object& map, std::string_view name) {
  for (std::uint32_t i = 0; i < map.via.map.size; ++i) {
    const msgpack::object& key = map.via.map.ptr[i].key;
    if (key.type == msgpack::type::STR &&
        std::string_view(key.via.str.ptr, key.via.str.size) == name)
      return &map.via.map.ptr[i].val;
  }
  return nullptr;
}

template <Struct T>
Complaint read(const msgpack::object& in, T& value) {
  if (in.type != msgpack::type::MAP) return wrong("not a map");
  const msgpack::object* version = find(in, "v");
  std::uint64_t written = 0;
  if (version == nullptr || read(*version, written) || written == 0)
    return wrong("the map has no version");
  if (written > T::version)
    return wrong("version " + std::to_string(written) + " is newer than " +
                     std::to_string(T::version) + ", the newest that this program reads",
                 Fault::unsupported);
  Complaint complaint;
  T::fields(value, [&](std::string_view name, auto& member, std::uint64_t since = 1) {
    if (complaint || since > written) return;
    const msgpack::object* found = find(in, name);
    complaint = found == nullptr ? Complaint(wrong("missing")) : read(*found, member);
    if (complaint) complaint->what = std::string(name) + ": " + complaint->what;
  });
  return complaint;
}

}  // namespace record

template <record::Struct T>
std::string encode_record(const T& value) {
  msgpack::sbuffer buffer;
  record::Packer packer(buffer);
  record::write(packer, value);
  return {buffer.data(), buffer.size()};
}

/// Errors: malformed; unsupported where the bytes were written by a newer version.
template <record::Struct T>
Result<T> decode_record(std::string_view bytes, PackLimits limits = {}) {
  try {
    msgpack::unpack_limit bound(limits.array, limits.map, limits.string, limits.string, 0,
                                limits.depth);
    std::size_t offset = 0;
    auto handle = msgpack::unpack(bytes.data(), bytes.size(), offset, nullptr, nullptr, bound);
    if (offset != bytes.size()) return record::wrong("bytes follow the record");
    T value;
    if (record::Complaint complaint = record::read(handle.get(), value)) return *complaint;
    return value;
  } catch (const std::exception& exception) {
    return record::wrong(std::string("not a record: ") + exception.what());
  }
}

}  // namespace lathe
