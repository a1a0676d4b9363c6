#pragma once

// What a subcommand prints for machines: one document of its schema.

#include "tests/json_schema.h"
#include "tests/system/program.h"

namespace lathe {

inline Json document(const std::vector<std::string>& words, const std::string& schema,
                     int status = 0) {
  ProcessEnd end = run_lathe(words);
  INFO(end.err);
  CHECK(end.status == status);
  Json json = Json::parse(end.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json.begin().key() == "schema");
  CHECK(json["schema"] == "lathe/" + schema + "/1");
  for (const std::string& complaint : JsonSchema::of(schema).complaints(json))
    FAIL_CHECK(complaint);
  return json;
}

}  // namespace lathe
