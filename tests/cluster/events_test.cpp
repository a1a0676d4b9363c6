#include "cluster/events.h"

#include <catch2/catch.hpp>

#include "cluster/wire.h"

namespace lathe::cluster {
namespace {

std::unique_ptr<Publisher> publisher(const PublisherOptions& options) {
  Result<std::unique_ptr<Publisher>> started = Publisher::start(options);
  if (!started) FAIL(started.error().what);
  return *std::move(started);
}

/// Publishes until the subscriber has joined, which takes a moment, and gives what came first.
std::optional<Subscriber::Received> first_heard(Publisher& publisher, Subscriber& subscriber) {
  for (int i = 0; i < 100; ++i) {
    REQUIRE(publisher.publish("hello", 1, "{}"));
    Result<std::optional<Subscriber::Received>> got = subscriber.next(20);
    REQUIRE(got);
    if (*got) return *got;
  }
  return {};
}

/// Reads until nothing comes any more; the last event.
std::optional<Subscriber::Received> last_heard(Subscriber& subscriber) {
  std::optional<Subscriber::Received> last;
  for (;;) {
    Result<std::optional<Subscriber::Received>> got = subscriber.next(200);
    REQUIRE(got);
    if (!*got) return last;
    last = *got;
  }
}

TEST_CASE("events arrive in order, numbered without gaps") {
  auto source = publisher({"127.0.0.1:*", 7, {}, {}});
  auto viewer = *Subscriber::connect({source->address(), "", {}, ""});
  std::optional<Subscriber::Received> first = first_heard(*source, *viewer);
  REQUIRE(first);
  CHECK(first->seen.anew);
  CHECK(first->event.epoch == 7);
  std::uint64_t sent = 0;
  for (int i = 0; i < 50; ++i)
    sent = *source->publish("verdict", 3, "{\"i\":" + std::to_string(i) + "}");
  std::optional<Subscriber::Received> last = last_heard(*viewer);
  REQUIRE(last);
  CHECK(last->event.sequence == sent);
  CHECK(last->seen.missed == 0);
  CHECK(last->event.kind == "verdict");
  CHECK(last->event.run == 3);
  CHECK(last->event.event_json == "{\"i\":49}");
}

TEST_CASE("a viewer is told how many events it missed") {
  GapWatch watch;
  CHECK(watch.see(1, 5).anew);
  CHECK(watch.see(1, 6).missed == 0);
  CHECK(watch.see(1, 10).missed == 3);
  CHECK(watch.see(1, 11).missed == 0);
}

TEST_CASE("an event that was seen, or is of the epoch before, is old") {
  GapWatch watch;
  watch.see(1, 98);
  watch.see(2, 5);
  CHECK(watch.see(2, 5).old);
  CHECK(watch.see(2, 4).old);
  CHECK(watch.see(1, 99).old);
  CHECK_FALSE(watch.see(2, 6).old);
}

TEST_CASE("two publishers never share an epoch that was drawn") {
  auto one = publisher({"127.0.0.1:*", 0, {}, {}}), two = publisher({"127.0.0.1:*", 0, {}, {}});
  auto see_one = *Subscriber::connect({one->address(), "", {}, ""});
  auto see_two = *Subscriber::connect({two->address(), "", {}, ""});
  CHECK(first_heard(*one, *see_one)->event.epoch != first_heard(*two, *see_two)->event.epoch);
}

TEST_CASE("a new epoch begins anew") {
  GapWatch watch;
  watch.see(1, 500);
  GapWatch::Seen seen = watch.see(2, 1);
  CHECK(seen.anew);
  CHECK_FALSE(seen.old);
  CHECK(seen.missed == 0);
}

TEST_CASE("a topic brings its own events alone") {
  auto source = publisher({"127.0.0.1:*", 1, {}, {}});
  auto all = *Subscriber::connect({source->address(), "", {}, ""});
  auto some = *Subscriber::connect({source->address(), "verdict", {}, ""});
  REQUIRE(first_heard(*source, *all));
  for (int i = 0; i < 50 && !*some->next(20); ++i) REQUIRE(source->publish("verdict", 1, "{}"));
  REQUIRE(source->publish("round", 1, "{}"));
  std::optional<Subscriber::Received> last = last_heard(*some);
  if (last) CHECK(last->event.kind == "verdict");
  CHECK(last_heard(*all)->event.kind == "round");
}

TEST_CASE("nothing is published off the loopback without keys") {
  Result<std::unique_ptr<Publisher>> open = Publisher::start({"0.0.0.0:*", 1, {}, {}});
  REQUIRE_FALSE(open);
  CHECK(open.error().absent == Absent::permission);
}

TEST_CASE("with keys, an admitted viewer hears and a stranger does not") {
  CurveKeys coordinator = make_curve_keys(), node = make_curve_keys();
  auto source = publisher({"127.0.0.1:*", 1, coordinator, [&] {
                             return std::vector<AllowedKey>{{"node", node.public_key}};
                           }});
  auto stranger =
      *Subscriber::connect({source->address(), "", make_curve_keys(), coordinator.public_key});
  auto plain = *Subscriber::connect({source->address(), "", {}, ""});
  auto viewer = *Subscriber::connect({source->address(), "", node, coordinator.public_key});
  REQUIRE(first_heard(*source, *viewer));
  REQUIRE(source->publish("late", 1, "{}"));
  CHECK_FALSE(last_heard(*stranger));
  CHECK_FALSE(last_heard(*plain));
}

TEST_CASE("an event that is too large is refused and takes no number") {
  auto source = publisher({"127.0.0.1:*", 1, {}, {}});
  CHECK(*source->publish("a", 1, "{}") == 1);
  CHECK_FALSE(source->publish("b", 1, std::string(message_bytes_max, 'x')));
  CHECK(*source->publish("c", 1, "{}") == 2);
}

TEST_CASE("an event goes there and back, and a cut one is refused") {
  std::string bytes = *encode_event({1, 2, "kind", 3, "{\"a\":1}"});
  Result<EventMessage> back = decode_event(bytes);
  REQUIRE(back);
  CHECK(back->event_json == "{\"a\":1}");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_event(bytes.substr(0, size)));
}

}  // namespace
}  // namespace lathe::cluster
