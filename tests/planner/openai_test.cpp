// The chat completions provider against a server that misbehaves on purpose.

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "base/files.h"
#include "planner/provider.h"
#include "server.h"

namespace lathe::planner {
namespace {

using namespace world;
using std::chrono::milliseconds;

constexpr const char* json_type = "application/json";
constexpr const char* good =
    R"({"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":11,"completion_tokens":7}})";
constexpr const char* secret = "sk-very-secret-1234";

struct Asked {
  Result<Reply> reply;
  std::vector<milliseconds> slept;
};

Request request() {
  Request made;
  made.messages = {{"system", "be brief"}, {"user", "say hello"}};
  made.round = 1;
  made.branch = 2;
  return made;
}

OpenaiOptions options(const Server& server) {
  OpenaiOptions made;
  made.base_url = server.url();
  made.model = "m-1";
  made.key = secret;
  made.first_byte = milliseconds(3000);
  made.idle = milliseconds(3000);
  return made;
}

Asked ask(OpenaiOptions with) {
  std::vector<milliseconds> slept;
  auto provider = make_openai(std::move(with), [&](milliseconds wait) { slept.push_back(wait); });
  Result<Reply> reply = provider->ask(request());
  return {std::move(reply), slept};
}

TEST_CASE("a good answer gives its text and its usage") {
  Server server({{response("200 OK", json_type, good)}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  CHECK(asked.reply->text == "hello");
  CHECK(asked.reply->usage.known);
  CHECK(asked.reply->usage.input_tokens == 11);
  CHECK(asked.reply->usage.output_tokens == 7);
  CHECK(asked.slept.empty());
}

TEST_CASE("the request is a chat completion with the key in a header and nowhere else") {
  Server server({{response("200 OK", json_type, good)}});
  REQUIRE(ask(options(server)).reply);
  const std::string& text = server.asked().at(0);
  CHECK(text.starts_with("POST /v1/chat/completions "));
  CHECK(text.find("Authorization: Bearer " + std::string(secret)) != std::string::npos);
  CHECK(text.find("\"model\":\"m-1\"") != std::string::npos);
  CHECK(text.find("\"content\":\"say hello\"") != std::string::npos);
  CHECK(text.find(secret, text.find("\r\n\r\n")) == std::string::npos);
}

TEST_CASE("a streamed answer is put together, with the usage of its last part") {
  Server server({{response("200 OK", "text/event-stream",
                           "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n"
                           ": a comment\n\n"
                           "data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},"
                           "\"finish_reason\":\"stop\"}]}\n\n"
                           "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
                           "\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  CHECK(asked.reply->text == "hello");
  CHECK(asked.reply->usage.output_tokens == 2);
}

TEST_CASE("a stream that ends before its reply does is asked again") {
  Server server({{response("200 OK", "text/event-stream",
                           "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n")},
                 {response("200 OK", json_type, good)}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  CHECK(asked.reply->text == "hello");
  CHECK(server.served() == 2);
}

TEST_CASE("429 waits as long as Retry-After says and then asks again") {
  Server server({{response("429 Too Many Requests", json_type, "{}", "Retry-After: 7\r\n")},
                 {response("200 OK", json_type, good)}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  REQUIRE(asked.slept.size() == 1);
  CHECK(asked.slept[0] == milliseconds(7000));
}

TEST_CASE("a Retry-After of a day is not obeyed to the letter") {
  Server server({{response("429 Too Many Requests", json_type, "{}", "Retry-After: 80000\r\n")},
                 {response("200 OK", json_type, good)}});
  Asked asked = ask(options(server));
  REQUIRE(asked.slept.size() == 1);
  CHECK(asked.slept[0] <= milliseconds(120'000));
}

TEST_CASE("500 is asked again with growing, jittered pauses, and not for ever") {
  Server server({{response("500 Internal Server Error", "text/plain", "oops")}});
  Asked asked = ask(options(server));
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().fault == Fault::unavailable);
  CHECK(asked.reply.error().what.find("after 4 attempts") != std::string::npos);
  CHECK(server.served() == 4);
  REQUIRE(asked.slept.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(asked.slept[i] >= milliseconds(250) * (1 << i));
    CHECK(asked.slept[i] <= milliseconds(500) * (1 << i));
  }
}

TEST_CASE("a body that is cut off is asked again") {
  std::string cut = response("200 OK", json_type, good);
  cut.resize(cut.size() - 20);
  Server server({{cut}, {response("200 OK", json_type, good)}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  CHECK(server.served() == 2);
}

TEST_CASE("HTML where a completion should be is no answer and is not asked again") {
  Server server({{response("200 OK", "text/html", "<html>Please log in</html>")}});
  Asked asked = ask(options(server));
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().fault == Fault::malformed);
  CHECK(asked.reply.error().what.find("text/html") != std::string::npos);
  CHECK(server.served() == 1);
}

TEST_CASE("a server that accepts and says nothing runs into the first-byte limit") {
  Server server({{"", true}});
  OpenaiOptions with = options(server);
  with.first_byte = milliseconds(150);
  with.attempts_max = 2;
  Asked asked = ask(with);
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().what.find("no first byte in time") != std::string::npos);
}

TEST_CASE("an answer that stands still runs into the idle limit") {
  std::string half = response("200 OK", json_type, good);
  half.resize(half.size() / 2 + 60);
  Server server({{half, true}});
  OpenaiOptions with = options(server);
  with.idle = milliseconds(150);
  with.attempts_max = 1;
  Asked asked = ask(with);
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().what.find("stood still") != std::string::npos);
}

TEST_CASE("an answer larger than is read is refused at once") {
  Server server({{response("200 OK", json_type, std::string(5000, ' ') + good)}});
  OpenaiOptions with = options(server);
  with.reply_bytes_max = 1000;
  Asked asked = ask(with);
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().fault == Fault::malformed);
  CHECK(server.served() == 1);
}

TEST_CASE("a refused key is a matter of permission, asked once, and the key is not repeated") {
  Server server(
      {{response("401 Unauthorized", json_type,
                 "{\"error\":{\"message\":\"Incorrect API key: sk-very-secret-1234\"}}")}});
  Asked asked = ask(options(server));
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().absent == Absent::permission);
  CHECK(asked.reply.error().what.find(secret) == std::string::npos);
  CHECK(server.served() == 1);
}

TEST_CASE("an error that repeats the key is shown without it") {
  Server server(
      {{response("404 Not Found", json_type, "{\"error\":\"no model for sk-very-secret-1234\"}")}});
  Asked asked = ask(options(server));
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().what.find(secret) == std::string::npos);
  CHECK(asked.reply.error().what.find("[key]") != std::string::npos);
}

TEST_CASE("a parameter that is refused by name is dropped and stays dropped") {
  Server server({{response("400 Bad Request", json_type,
                           "{\"error\":{\"message\":\"no\",\"param\":\"stream_options\"}}")},
                 {response("200 OK", json_type, good)}});
  auto provider = make_openai(options(server), [](milliseconds) {});
  REQUIRE(provider->ask(request()));
  REQUIRE(provider->ask(request()));
  REQUIRE(server.asked().size() == 3);
  CHECK(server.asked()[0].find("stream_options") != std::string::npos);
  CHECK(server.asked()[1].find("stream_options") == std::string::npos);
  CHECK(server.asked()[2].find("stream_options") == std::string::npos);
}

TEST_CASE("a refusal of the model is no reply to apply") {
  Server server({{response("200 OK", json_type,
                           R"({"choices":[{"message":{"content":null,"refusal":"I cannot"}}]})")}});
  Asked asked = ask(options(server));
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().fault == Fault::unsupported);
}

TEST_CASE("an answer without usage says that it is not known") {
  Server server({{response("200 OK", json_type, R"({"choices":[{"message":{"content":"x"}}]})")}});
  Asked asked = ask(options(server));
  REQUIRE(asked.reply);
  CHECK_FALSE(asked.reply->usage.known);
}

TEST_CASE("nobody at the address is unavailable") {
  OpenaiOptions with;
  with.base_url = "http://127.0.0.1:1/v1";
  with.model = "m";
  with.attempts_max = 2;
  Asked asked = ask(with);
  REQUIRE_FALSE(asked.reply);
  CHECK(asked.reply.error().fault == Fault::unavailable);
  CHECK(asked.slept.size() == 1);
}

Environment environment(std::vector<std::pair<std::string, std::string>> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    for (const auto& [key, value] : values)
      if (key == name) return value;
    return {};
  };
}

TEST_CASE("the key comes from the environment or from a file that only its owner reads") {
  CHECK(*read_openai_key(environment({{"OPENAI_API_KEY", "a"}})) == "a");
  CHECK(*read_openai_key(environment({{"LATHE_OPENAI_API_KEY", "b"}, {"OPENAI_API_KEY", "a"}})) ==
        "b");
  Scratch scratch;
  std::string file = scratch.path() / "key";
  REQUIRE(write_file(file, "sk-file\n"));
  ::chmod(file.c_str(), 0600);
  CHECK(*read_openai_key(environment({{"LATHE_OPENAI_KEY_FILE", file}})) == "sk-file");
  ::chmod(file.c_str(), 0640);
  auto open = read_openai_key(environment({{"LATHE_OPENAI_KEY_FILE", file}}));
  REQUIRE_FALSE(open);
  CHECK(open.error().absent == Absent::permission);
  CHECK(open.error().what.find("sk-file") == std::string::npos);
}

TEST_CASE("no key is a matter of permission, unless the endpoint is one's own") {
  auto none = read_openai_key(environment({}));
  REQUIRE_FALSE(none);
  CHECK(none.error().absent == Absent::permission);
  CHECK(read_openai_key(environment({{"LATHE_OPENAI_BASE_URL", "http://localhost"}}))->empty());
}

}  // namespace
}  // namespace lathe::planner
