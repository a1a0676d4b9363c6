// Replays, programs, folders, and which specification names which.

#include <catch2/catch.hpp>

#include "base/files.h"
#include "planner/provider.h"

namespace lathe::planner {
namespace {

Request request(std::uint32_t round, std::uint32_t branch, std::uint32_t turn = 0) {
  Request made;
  made.messages = {{"user", "prompt"}};
  made.round = round;
  made.branch = branch;
  made.turn = turn;
  return made;
}

Surroundings surroundings() {
  return {[](const std::string&) -> std::optional<std::string> { return {}; },
          [](std::chrono::milliseconds) {}};
}

TEST_CASE("a transcript answers by round, branch and turn") {
  auto provider = make_recorded(
      "{\"round\":1,\"branch\":2,\"reply\":\"two\",\"usage\":{\"prompt_tokens\":5,"
      "\"completion_tokens\":6}}\n\n{\"round\":1,\"branch\":1,\"reply\":\"one\"}\n"
      "{\"round\":1,\"branch\":1,\"turn\":1,\"reply\":\"again\"}",
      "t.jsonl");
  REQUIRE(provider);
  CHECK((*provider)->ask(request(1, 1))->text == "one");
  CHECK((*provider)->ask(request(1, 1, 1))->text == "again");
  CHECK_FALSE((*provider)->ask(request(1, 1))->usage.known);
  auto two = (*provider)->ask(request(1, 2));
  REQUIRE(two);
  CHECK(two->text == "two");
  CHECK(two->usage.input_tokens == 5);
}

TEST_CASE("a reply that the transcript does not hold is named") {
  auto provider = make_recorded("{\"round\":1,\"branch\":1,\"reply\":\"one\"}", "t.jsonl");
  auto reply = (*provider)->ask(request(2, 1));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().fault == Fault::unsupported);
  CHECK(reply.error().what.find("round 2, branch 1") != std::string::npos);
}

TEST_CASE("a transcript that counts from zero is counted from one") {
  auto provider = make_recorded(
      "{\"round\":0,\"branch\":0,\"reply\":\"a\"}\n{\"round\":0,\"branch\":1,\"reply\":\"b\"}",
      "t.jsonl");
  CHECK((*provider)->ask(request(1, 1))->text == "a");
  CHECK((*provider)->ask(request(1, 2))->text == "b");
}

TEST_CASE("a prompt that differs from the recorded one is said, an equal one is not") {
  std::string same = hex(digest_of(request(1, 1)));
  std::string line = "{\"round\":1,\"branch\":1,\"reply\":\"a\",\"request_sha256\":\"" + same +
                     "\"}\n{\"round\":1,\"branch\":2,\"reply\":\"b\",\"request_sha256\":\"00ff\"}";
  auto provider = make_recorded(line, "t.jsonl");
  CHECK((*provider)->ask(request(1, 1))->remark.empty());
  CHECK((*provider)->ask(request(1, 2))->remark.find("differs") != std::string::npos);
}

TEST_CASE("the digest of a request is of its messages alone") {
  CHECK(digest_of(request(1, 1)) == digest_of(request(2, 3)));
  Request other = request(1, 1);
  other.messages[0].text += ".";
  CHECK(digest_of(other) != digest_of(request(1, 1)));
}

TEST_CASE("a damaged transcript is refused with its line") {
  for (const char* bad :
       {"nonsense", "[1]", "{\"round\":1,\"reply\":\"x\"}", "{\"round\":1,\"branch\":1}",
        "{\"round\":-1,\"branch\":1,\"reply\":\"\"}",
        "{\"round\":\"1\",\"branch\":1,\"reply\":\"\"}"}) {
    auto provider =
        make_recorded("{\"round\":1,\"branch\":1,\"reply\":\"a\"}\n" + std::string(bad), "t.jsonl");
    REQUIRE_FALSE(provider);
    CHECK(provider.error().fault == Fault::malformed);
    CHECK(provider.error().place.line == 2);
  }
  CHECK_FALSE(make_recorded("\n\n", "t.jsonl"));
}

TEST_CASE("a program reads the prompt and its output is the reply") {
  auto provider = make_command({"/bin/cat"}, std::chrono::seconds(10));
  auto reply = provider->ask(request(1, 1));
  REQUIRE(reply);
  CHECK(reply->text == "prompt\n");
  CHECK_FALSE(reply->usage.known);
}

TEST_CASE("a program that fails, is silent or is not there gives no reply") {
  for (const char* program : {"/bin/false", "/bin/true", "/no/such/program"}) {
    auto reply = make_command({program}, std::chrono::seconds(10))->ask(request(1, 1));
    REQUIRE_FALSE(reply);
    CHECK(reply.error().fault == Fault::unavailable);
  }
}

TEST_CASE("a program that does not end is ended") {
  auto reply =
      make_command({"/bin/sleep", "30"}, std::chrono::milliseconds(100))->ask(request(1, 1));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().what.find("in time") != std::string::npos);
}

TEST_CASE("a folder takes the prompt and waits for somebody's reply") {
  Scratch scratch;
  auto file = scratch.path() / "d" / "round-1-branch-2-turn-0-0.reply.md";
  int waits = 0;
  auto provider = make_folder(
      scratch.path() / "d",
      [&](std::chrono::milliseconds) {
        if (++waits == 3) REQUIRE(write_file(file, "the reply"));
      },
      std::chrono::hours(1));
  auto reply = provider->ask(request(1, 2));
  REQUIRE(reply);
  CHECK(reply->text == "the reply");
  CHECK(waits == 3);
  CHECK(*read_file(scratch.path() / "d" / "round-1-branch-2-turn-0-0.prompt.md") == "prompt\n");
}

TEST_CASE("a folder in which nobody answers is unavailable after its time") {
  Scratch scratch;
  auto provider = make_folder(
      scratch.path(), [](std::chrono::milliseconds) {}, std::chrono::seconds(5));
  CHECK(provider->ask(request(1, 1)).error().fault == Fault::unavailable);
}

TEST_CASE("a specification names a provider, and a wrong one says what would be accepted") {
  CHECK(*make_provider("command:/bin/cat", surroundings()));
  CHECK((*make_provider("folder:/tmp/x", surroundings()))->model() == "folder");
  for (const char* wrong : {"", "openai", "openai:", "gpt", "unknown:x"}) {
    auto provider = make_provider(wrong, surroundings());
    REQUIRE_FALSE(provider);
    CHECK(provider.error().fault == Fault::malformed);
    CHECK(provider.error().remedy.find("recorded:FILE") != std::string::npos);
  }
  CHECK(make_provider("anthropic:x", surroundings()).error().fault == Fault::unsupported);
  CHECK(make_provider("recorded:/no/such/file", surroundings()).error().absent == Absent::file);
  CHECK(make_provider("openai:m", surroundings()).error().absent == Absent::permission);
}

TEST_CASE("prices come from the file that the environment names, else from the program") {
  Scratch scratch;
  std::string file = scratch.path() / "prices.json";
  REQUIRE(write_file(file, R"({"date":"2026-02-03","models":{"m":{"input_per_million":1,)"
                           R"("output_per_million":2}}})"));
  auto named = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "LATHE_PRICES") return file;
    return {};
  };
  auto table = prices_of(named);
  REQUIRE(table);
  CHECK(table->date == "2026-02-03");
  CHECK(table->find("m")->output_micro == 2'000'000);
  CHECK(table->find("recorded")->output_micro == 0);
  CHECK(prices_of(surroundings().environment)->date == shipped_prices().date);
  REQUIRE(write_file(file, "{}"));
  auto broken = prices_of(named);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().place.file == file);
}

}  // namespace
}  // namespace lathe::planner
