// Nodes as processes of their own: one that is killed in the middle of a job, and one that is
// frozen past its lease, cost nothing but time.

#include "farm.h"
#include "tests/json_schema.h"

namespace lathe::system_test {
namespace {

/// What a run on this process's own slots leaves behind.
const std::string& local_export() {
  static const std::string text = [] {
    Folder folder;
    Ran local = ran(lower(folder / "store"));
    INFO(local.err);
    REQUIRE(local.status == 0);
    return exported(folder / "store");
  }();
  return text;
}

/// What a node that has ended leaves on standard output: one document.
Json document(const Program& node, const std::string& schema) {
  Json json = Json::parse(node.out(), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["schema"] == "lathe/" + schema + "/1");
  for (const std::string& complaint : JsonSchema::of(schema).complaints(json))
    FAIL_CHECK(complaint);
  return json;
}

TEST_CASE("two nodes do a run's work, and leave what one process would") {
  Farm farm;
  auto ada = farm.node("ada", "5"), bea = farm.node("bea", "5");
  REQUIRE_FALSE(next_claim(*farm.coordinator, "ada").empty());
  CHECK(has(ran({"runs", "--store", farm.folder / "store"}).out, "run 1  running"));
  int status = farm.coordinator->wait(seconds(120));
  INFO(farm.coordinator->err());
  REQUIRE(status == 0);
  CHECK(exported(farm.folder / "store") == local_export());
  std::size_t by_ada = 0, by_bea = 0;
  for (const std::string& line : farm.coordinator->lines()) {
    by_ada += is(line, "completed") && has(line, "\"ada");
    by_bea += is(line, "completed") && has(line, "\"bea");
  }
  CHECK(by_ada > 0);
  CHECK(by_bea > 0);
  // Either it hears that the run is over, or it finds nobody at the coordinator's address.
  for (Program* node : {ada.get(), bea.get()}) {
    int end = node->wait(seconds(60));
    CHECK((end == 0 || end == 69));
    Json json = document(*node, end == 0 ? "node" : "error");
    if (end == 0) CHECK(json["ended"] == "over");
  }
}

TEST_CASE("a node that somebody stops says so, and ends with 130") {
  Farm farm;
  auto ada = farm.node("ada");
  REQUIRE_FALSE(next_claim(*farm.coordinator, "ada").empty());
  ada->kill(SIGINT);
  CHECK(ada->wait(seconds(60)) == 130);
  CHECK(document(*ada, "node")["ended"] == "interrupted");
  // Of rounds and of going on only a run could speak.
  has(ada->err(), "leaving the farm");
  CHECK(ada->err().find("resume") == std::string::npos);
}

TEST_CASE("the job of a node that is killed in the middle is done by another, once") {
  Farm farm;
  auto ada = farm.node("ada");
  std::string item = next_claim(*farm.coordinator, "ada");
  REQUIRE_FALSE(item.empty());
  ada->kill(SIGKILL);
  auto bea = farm.node("bea");
  int status = farm.coordinator->wait(seconds(120));
  INFO(farm.coordinator->err());
  REQUIRE(status == 0);
  CHECK(count(*farm.coordinator, "lost", item) == 1);
  CHECK(count(*farm.coordinator, "claimed", item) == 2);
  CHECK(count(*farm.coordinator, "completed", item) == 1);
  for (const std::string& line : farm.coordinator->lines())
    if (is(line, "completed") && has(line, item)) CHECK(has(line, "\"bea"));
  CHECK(exported(farm.folder / "store") == local_export());
}

TEST_CASE("the late result of a node that was frozen past its lease is refused as stale") {
  Farm farm;
  auto ada = farm.node("ada");
  std::string item = next_claim(*farm.coordinator, "ada");
  REQUIRE_FALSE(item.empty());
  ada->kill(SIGSTOP);
  auto bea = farm.node("bea");
  bool lost = farm.coordinator->read_until(
      [&](const std::string& line) { return is(line, "lost") && has(line, item); }, seconds(30));
  ada->kill(SIGCONT);
  bool stale = lost && farm.coordinator->read_until(
                           [&](const std::string& line) {
                             return is(line, "stale") && has(line, item) && has(line, "\"ada");
                           },
                           seconds(30));
  int status = farm.coordinator->wait(seconds(120));
  INFO(farm.coordinator->err());
  CHECK(lost);
  CHECK(stale);
  REQUIRE(status == 0);
  CHECK(count(*farm.coordinator, "completed", item) == 1);
  CHECK(exported(farm.folder / "store") == local_export());
}

TEST_CASE("a node whose coordinator was killed says so in one sentence, waits a while, and ends") {
  Farm farm;
  auto ada = farm.node("ada", "1");
  REQUIRE_FALSE(next_claim(*farm.coordinator, "ada").empty());
  farm.coordinator->kill(SIGKILL);
  CHECK(ada->wait(seconds(60)) == 69);
  CHECK(document(*ada, "error")["exit_status"] == 69);
  std::string said = ada->err();
  INFO(said);
  CHECK(has(said, "has ended, and none came back within 1 s"));
  CHECK(has(said, "nobody answers at the coordinator's address"));
  CHECK_FALSE(has(said, "system_error"));
  CHECK(said.find("nobody answers") == said.rfind("nobody answers"));
  // Whoever looks sees that nobody carries the run out.
  CHECK(has(ran({"runs", "--store", farm.folder / "store"}).out, "interrupted"));
}

TEST_CASE("a node whose bundle was revoked is refused") {
  Farm farm;
  REQUIRE(ran({"cluster", "revoke", "ada", "--dir", farm.folder / "farm"}).status == 0);
  auto ada = farm.node("ada");
  CHECK(ada->wait(seconds(30)) == 77);
  CHECK(document(*ada, "error")["exit_status"] == 77);
}

TEST_CASE("a bundle of another farm opens no door") {
  Farm farm, other;
  std::filesystem::remove_all(other.folder / "farm");
  Ran made = ran({"cluster", "init", other.folder / "farm"});
  REQUIRE(made.status == 0);
  std::string address = farm.coordinator->err();
  std::size_t at = address.find("127.0.0.1:");
  REQUIRE(at != std::string::npos);
  address = address.substr(at, address.find_first_not_of("0123456789", at + 10) - at);
  REQUIRE(ran({"cluster", "admit", "eve", "--dir", other.folder / "farm", "--address", address,
               "--out", other.bundle("eve")})
              .status == 0);
  auto eve = other.node("eve");
  CHECK(eve->wait(seconds(30)) == 77);
  for (const std::string& line : farm.coordinator->lines()) CHECK_FALSE(has(line, "eve"));
}

}  // namespace
}  // namespace lathe::system_test
