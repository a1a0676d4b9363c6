// cp.async: when its bytes are there, and what its destination holds until then.

#include "tests/ptx/run_lines.h"

namespace lathe::ptx {
namespace {

const std::string copying = R"(
    .shared .align 16 .b8 buffer[128];
    mov.u32 %r1, buffer;
    shl.b32 %r2, %tid, 2;
    add.u32 %r1, %r1, %r2;
    cp.async.ca.shared.global [%r1], [%in], 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r3, [%r1];
    st.global.u32 [%out], %r3;)";

Launched run_late(const std::string& lines) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(iota(32));
  launch.shape.block[0] = 32;
  launch.request.schedule = AsyncSchedule::at_wait;
  launch.run(body_text(usual, lines));
  return launch;
}

TEST_CASE("an asynchronous copy is there after its wait") {
  CHECK(out(run_lines(copying))[17] == 17);
  CHECK(out(run_late(copying))[17] == 17);
}

TEST_CASE("an asynchronous copy read before its wait is seen by the late schedule") {
  std::string text = copying;
  text.erase(text.find("cp.async.wait_group 0;"), 22);
  CHECK_FALSE(run_lines(text).result.trap);
  CHECK(trap_of(run_late(text)).kind == TrapKind::undefined_value);
}

TEST_CASE("what lay where an asynchronous copy goes is gone once it is issued") {
  std::string text = copying;
  text.insert(text.find("cp.async.ca"), "st.shared.u32 [%r1], 7;\n    ");
  CHECK(out(run_late(text))[17] == 17);
  text.erase(text.find("cp.async.wait_group 0;"), 22);
  CHECK(trap_of(run_late(text)).kind == TrapKind::undefined_value);
}

TEST_CASE("wait_group leaves the newest groups under way") {
  std::string text = copying;
  text.replace(text.find("wait_group 0"), 12, "wait_group 1");
  CHECK(trap_of(run_late(text)).kind == TrapKind::undefined_value);
  text.replace(text.find("cp.async.wait_group 1"), 21,
               "cp.async.commit_group;\ncp.async.wait_group 1");
  CHECK(out(run_late(text))[3] == 3);
}

TEST_CASE("wait_all needs no commit") {
  std::string text = copying;
  text.replace(text.find("cp.async.commit_group;"), 22, "");
  text.replace(text.find("wait_group 0"), 12, "wait_all");
  CHECK(out(run_late(text))[5] == 5);
}

TEST_CASE("what a copy does not read it fills with zeros") {
  std::string text = copying;
  text.replace(text.find("[%in], 4;"), 9, "[%in], 4, 0;");
  CHECK(out(run_late(text))[5] == 0);
  CHECK(out(run_lines(text))[5] == 0);
}
}  // namespace
}  // namespace lathe::ptx
