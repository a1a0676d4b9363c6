#pragma once

// Values as bytes, one member after the other, for the units of a journal. Of a struct all members
// are bound by name where it is listed, so that one which is added does not compile until it is.
// Include it in .cpp files only.

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lathe::verifier_node {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ByteWriter {
 public:
  static constexpr bool reads = false;
  template <Plain T>
  void one(const T& value) {
    std::array<char, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof value);
    bytes.append(raw.data(), raw.size());
  }
  void text(const std::string& text) {
    one(std::uint64_t{text.size()});
    bytes += text;
  }
  /// What is no unit has no bytes.
  void fail() { good = false; }
  std::string bytes;
  bool good = true;
};

class ByteReader {
 public:
  static constexpr bool reads = true;
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}
  template <Plain T>
  void one(T& value) {
    if (left_.size() < sizeof(T)) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
  }
  /// Each element takes a byte at least.
  std::size_t count() {
    std::uint64_t count = 0;
    one(count);
    if (count <= left_.size()) return static_cast<std::size_t>(count);
    fail();
    return 0;
  }
  void text(std::string& text) {
    std::size_t size = count();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  void fail() {
    good_ = false;
    left_ = {};
  }
  /// All was there, and nothing follows.
  bool whole() const { return good_ && left_.empty(); }

 private:
  std::string_view left_;
  bool good_ = true;
};

template <class A, class... Members>
void all(A& archive, Members&... members);

template <class A, Plain T>
void pass(A& archive, T& value) {
  archive.one(value);
}
template <class A, class T, std::size_t N>
void pass(A& archive, std::array<T, N>& values) {
  for (T& value : values) pass(archive, value);
}
template <class A, class First, class Second>
void pass(A& archive, std::pair<First, Second>& both) {
  all(archive, both.first, both.second);
}
template <class A, class T>
void pass(A& archive, std::optional<T>& value) {
  std::uint8_t there = value.has_value() ? 1 : 0;
  archive.one(there);
  if (there == 0) return value.reset();
  if constexpr (A::reads) value.emplace();
  pass(archive, *value);
}

/// Lists, and sets and maps in whatever order they have.
template <class A, class List>
void pass_list(A& archive, List& list) {
  if constexpr (A::reads) {
    std::size_t count = archive.count();
    list.clear();
    for (std::size_t i = 0; i < count; ++i) {
      typename List::value_type value{};
      pass(archive, value);
      list.insert(list.end(), std::move(value));
    }
  } else {
    archive.one(std::uint64_t{list.size()});
    for (const auto& value : list) pass(archive, const_cast<typename List::value_type&>(value));
  }
}
template <class A, class Map>
void pass_map(A& archive, Map& map) {
  if constexpr (A::reads) {
    std::size_t count = archive.count();
    map.clear();
    for (std::size_t i = 0; i < count; ++i) {
      std::pair<typename Map::key_type, typename Map::mapped_type> both{};
      pass(archive, both);
      map.insert(std::move(both));
    }
  } else {
    archive.one(std::uint64_t{map.size()});
    for (const auto& [key, value] : map) {
      auto copied = key;
      pass(archive, copied);
      pass(archive, const_cast<typename Map::mapped_type&>(value));
    }
  }
}
template <class A>
void pass(A& archive, std::string& text) {
  archive.text(text);
}
template <class A, class T>
void pass(A& archive, std::vector<T>& values) {
  pass_list(archive, values);
}
template <class A, class T>
void pass(A& archive, std::unordered_set<T>& values) {
  pass_list(archive, values);
}
template <class A, class Key, class Value>
void pass(A& archive, std::map<Key, Value>& values) {
  pass_map(archive, values);
}
template <class A, class Key, class Value>
void pass(A& archive, std::unordered_map<Key, Value>& values) {
  pass_map(archive, values);
}

template <class A, class... Members>
void all(A& archive, Members&... members) {
  (pass(archive, members), ...);
}

template <class T>
std::string bytes_of(const T& value) {
  ByteWriter writer;
  // Writing changes nothing.
  pass(writer, const_cast<T&>(value));
  return writer.good ? std::move(writer.bytes) : std::string();
}
/// Nothing where the bytes are another value's.
template <class T>
std::optional<T> value_of(std::string_view bytes) {
  ByteReader reader(bytes);
  T value{};
  pass(reader, value);
  if (!reader.whole()) return std::nullopt;
  return value;
}

}  // namespace lathe::verifier_node
