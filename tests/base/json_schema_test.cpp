// The validator of docs/json/ itself: what it accepts, and each near-miss.

#include "tests/json_schema.h"
#include "tests/places.h"

#include <catch2/catch.hpp>
#include <filesystem>

namespace lathe {
namespace {

const JsonSchema sample(Json::parse(R"({
  "type": "object", "required": ["schema", "list"], "additionalProperties": false,
  "properties": {
    "schema": {"const": "lathe/x/1"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "word": {"enum": ["a", "b"]},
    "digest": {"type": "string", "pattern": "^[0-9a-f]{4}$"}}})"));

bool valid(const char* text) { return sample.complaints(Json::parse(text)).empty(); }

TEST_CASE("a document that fits its schema has no complaint") {
  CHECK(valid(R"({"schema": "lathe/x/1", "list": []})"));
  CHECK(valid(R"({"schema": "lathe/x/1", "list": [1, -2], "word": "b", "digest": "00ff"})"));
}

TEST_CASE("a missing, unknown, mistyped or misspelt member is a complaint") {
  CHECK_FALSE(valid(R"({"schema": "lathe/x/1"})"));
  CHECK_FALSE(valid(R"({"schema": "lathe/x/2", "list": []})"));
  CHECK_FALSE(valid(R"({"schema": "lathe/x/1", "list": [1.5]})"));
  CHECK_FALSE(valid(R"({"schema": "lathe/x/1", "list": [], "word": "c"})"));
  CHECK_FALSE(valid(R"({"schema": "lathe/x/1", "list": [], "more": 1})"));
  CHECK_FALSE(valid(R"({"schema": "lathe/x/1", "list": [], "digest": "00fg"})"));
  CHECK_FALSE(valid("[]"));
}

TEST_CASE("a schema with a keyword that is not checked is a complaint") {
  CHECK_FALSE(JsonSchema(Json::parse(R"({"multipleOf": 2})")).complaints(Json(1)).empty());
}

TEST_CASE("every shipped schema names itself and demands its schema member") {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(source_folder) + "/docs/json")) {
    Json schema = Json::parse(*read_text(entry.path()));
    INFO(entry.path());
    CHECK(schema["properties"].begin().key() == "schema");
    CHECK(schema["properties"]["schema"]["const"] == schema["title"]);
    CHECK(schema["required"][0] == "schema");
    ++count;
  }
  CHECK(count >= 8);
}

}  // namespace
}  // namespace lathe
