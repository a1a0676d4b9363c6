#include "base/record.h"

#include <catch2/catch.hpp>

namespace lathe {
namespace {

enum class Colour : std::uint8_t { red = 1, blue = 2 };

struct Inner {
  static constexpr std::uint64_t version = 1;
  std::string name;
  static void fields(auto& self, auto&& field) { field("name", self.name); }
};

struct Sample {
  static constexpr std::uint64_t version = 1;
  std::uint64_t count = 0;
  std::int64_t offset = 0;
  bool known = false;
  double ratio = 0;
  Colour colour = Colour::red;
  Digest digest;
  std::vector<Inner> inner;
  static void fields(auto& self, auto&& field) {
    field("count", self.count);
    field("offset", self.offset);
    field("known", self.known);
    field("ratio", self.ratio);
    field("colour", self.colour);
    field("digest", self.digest);
    field("inner", self.inner);
  }
};

/// The same map one version later.
struct Later {
  static constexpr std::uint64_t version = 2;
  std::string name;
  std::uint64_t credit = 7;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("credit", self.credit, 2);
  }
};

struct Numbered {
  static constexpr std::uint64_t version = 1;
  std::uint64_t name = 0;
  static void fields(auto& self, auto&& field) { field("name", self.name); }
};

struct Small {
  static constexpr std::uint64_t version = 1;
  std::uint8_t name = 0;
  static void fields(auto& self, auto&& field) { field("name", self.name); }
};

struct Nameless {
  static constexpr std::uint64_t version = 1;
  static void fields(auto&, auto&&) {}
};

TEST_CASE("a record comes back as it was written, edges included") {
  Sample sample{UINT64_MAX, INT64_MIN, true, 0.1, Colour::blue, sha256("x"), {{"a"}, {""}}};
  Result<Sample> back = decode_record<Sample>(encode_record(sample));
  REQUIRE(back);
  CHECK(back->count == UINT64_MAX);
  CHECK(back->offset == INT64_MIN);
  CHECK(back->known);
  CHECK(back->ratio == 0.1);
  CHECK(back->colour == Colour::blue);
  CHECK(back->digest == sha256("x"));
  REQUIRE(back->inner.size() == 2);
  CHECK(back->inner[0].name == "a");
}

TEST_CASE("equal records have equal bytes") {
  Sample sample{1, 2, false, 3, Colour::red, {}, {}};
  CHECK(encode_record(sample) == encode_record(sample));
}

TEST_CASE("an older record keeps the defaults of members that came later") {
  Result<Later> later = decode_record<Later>(encode_record(Inner{"node"}));
  REQUIRE(later);
  CHECK(later->name == "node");
  CHECK(later->credit == 7);
}

TEST_CASE("a newer record is unsupported, not guessed") {
  Result<Inner> inner = decode_record<Inner>(encode_record(Later{"node", 1}));
  REQUIRE_FALSE(inner);
  CHECK(inner.error().fault == Fault::unsupported);
}

TEST_CASE("a member of the wrong type is named") {
  Result<Numbered> wrong = decode_record<Numbered>(encode_record(Inner{"node"}));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what == "name: not a whole number of this size");
}

TEST_CASE("a number that does not fit is refused, and the largest that does is taken") {
  CHECK_FALSE(decode_record<Small>(encode_record(Numbered{256})));
  CHECK(decode_record<Small>(encode_record(Numbered{255})));
}

TEST_CASE("a missing member is refused by its name") {
  Result<Inner> missing = decode_record<Inner>(encode_record(Nameless{}));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().what == "name: missing");
}

TEST_CASE("members that the reader does not know are passed over") {
  CHECK(decode_record<Nameless>(encode_record(Inner{"node"})));
}

TEST_CASE("a map without a version is no record") {
  std::map<std::string, std::string> map{{"name", "node"}};
  CHECK_FALSE(decode_record<Inner>(pack(map)));
}

TEST_CASE("bytes after a record, and a record cut anywhere, are refused") {
  std::string bytes = encode_record(Inner{"node"});
  REQUIRE(decode_record<Inner>(bytes));
  CHECK_FALSE(decode_record<Inner>(bytes + "x"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_record<Inner>(bytes.substr(0, size)));
}

TEST_CASE("a list that claims more than the limit takes no memory") {
  CHECK_FALSE(decode_record<Inner>(std::string("\xdd\xff\xff\xff\xff", 5)));
}

TEST_CASE("of two members with one name the first counts") {
  msgpack::sbuffer buffer;
  record::Packer out(buffer);
  out.pack_map(3);
  out.pack("v"), out.pack(1), out.pack("name"), out.pack("first"), out.pack("name");
  out.pack("second");
  Result<Inner> inner = decode_record<Inner>({buffer.data(), buffer.size()});
  REQUIRE(inner);
  CHECK(inner->name == "first");
}

}  // namespace
}  // namespace lathe
