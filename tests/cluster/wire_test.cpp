#include "cluster/wire.h"

#include <catch2/catch.hpp>

#include "base/random.h"

namespace lathe::cluster {
namespace {

Hello hello() {
  Hello hello;
  hello.node = "gpu-7";
  hello.secret = "s";
  hello.capabilities = {"arch:sm_90a", "gate:test"};
  hello.credit = 2;
  hello.gpus = {{"GPU-1", "H200", "sm_90a", "580", 1ull << 37}};
  return hello;
}

template <class Kind>
void goes_there_and_back(const Kind& kind) {
  Result<std::string> bytes = encode(kind);
  REQUIRE(bytes);
  Result<Message> back = decode(*bytes);
  REQUIRE(back);
  REQUIRE(std::holds_alternative<Kind>(*back));
  CHECK(*encode(*back) == *bytes);
}

TEST_CASE("every message goes there and back") {
  goes_there_and_back(hello());
  goes_there_and_back(Welcome{1, 2, 30'000, 5'000});
  goes_there_and_back(Refusal{"busy", 100});
  goes_there_and_back(Want{2});
  goes_there_and_back(Offer{sha256("i"), 1ull << 33, 4, 30'000, sha256("r")});
  goes_there_and_back(Renewal{{{sha256("i"), 1}, {sha256("j"), 2}}});
  goes_there_and_back(Offer{sha256("i"), 1, 4, 30'000, sha256("r"), sha256("j")});
  goes_there_and_back(NoteMessage{sha256("i"), 1, std::string("unit\0", 5), {}});
  goes_there_and_back(NoteMessage{sha256("i"), 1, "", sha256("u")});
  goes_there_and_back(Revoked{{{sha256("i"), 1}}});
  goes_there_and_back(ResultMessage{sha256("i"), 1, 2, std::string("\0\xff", 2), {}});
  goes_there_and_back(Acknowledged{sha256("i"), 1, "accepted"});
  goes_there_and_back(GiveBack{sha256("i"), 1, "no assembler"});
  goes_there_and_back(DrainMessage{"maintenance"});
  goes_there_and_back(Ping{7, true});
}

TEST_CASE("a hello keeps what the node is") {
  Result<Message> back = decode(*encode(hello()));
  const Hello& got = std::get<Hello>(*back);
  CHECK(got.node == "gpu-7");
  CHECK(got.capabilities.size() == 2);
  REQUIRE(got.gpus.size() == 1);
  CHECK(got.gpus[0].memory_bytes == 1ull << 37);
}

TEST_CASE("a message cut anywhere is refused, and so is one with bytes behind it") {
  std::string bytes = *encode(hello());
  REQUIRE(decode(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode(bytes.substr(0, size)));
  CHECK_FALSE(decode(bytes + "x"));
}

TEST_CASE("a message may be just as large as a message may be") {
  ResultMessage result;
  result.reply = std::string(message_bytes_max - 400, 'x');
  CHECK(encode(result));
  result.reply = std::string(message_bytes_max, 'x');
  CHECK_FALSE(encode(result));
  CHECK_FALSE(decode(std::string(message_bytes_max + 1, 'x')));
}

TEST_CASE("no bytes that a stranger sends bring it down") {
  std::string bytes = *encode(hello());
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::string hostile = bytes;
    for (std::uint64_t i = 0; i <= seed % 4; ++i)
      hostile[philox64(seed, 1, i) % hostile.size()] = static_cast<char>(philox64(seed, 2, i));
    if (Result<Message> got = decode(hostile); got) CHECK(encode(*got));
  }
}

TEST_CASE("a kind that is not known yet is unsupported, not garbage") {
  std::string bytes = *encode(Ping{1, false});
  std::size_t kind = bytes.find("kind") + 4;
  REQUIRE(bytes[kind] == static_cast<char>(Message(Ping{1, false}).index() + 1));
  bytes[kind] = 127;
  CHECK(decode(bytes).error().fault == Fault::unsupported);
  bytes[kind] = 0;
  CHECK(decode(bytes).error().fault == Fault::malformed);
}

}  // namespace
}  // namespace lathe::cluster
