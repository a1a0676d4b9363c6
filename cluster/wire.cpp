#include "cluster/wire.h"

#include <array>
#include <utility>

#include "base/record.h"

namespace lathe::cluster {
namespace {

struct Envelope {
  static constexpr std::uint64_t version = 1;
  std::uint64_t kind = 0;
  std::string body;
  static void fields(auto& self, auto&& field) {
    field("kind", self.kind);
    field("body", self.body);
  }
};

/// A message holds few of anything.
constexpr PackLimits limits{.array = 4096, .map = 64, .string = message_bytes_max, .depth = 8};

template <class Kind>
Result<Message> body_as(std::string_view bytes) {
  Result<Kind> body = decode_record<Kind>(bytes, limits);
  if (!body) return body.error();
  return Message{*std::move(body)};
}

using Reader = Result<Message> (*)(std::string_view);

template <std::size_t... I>
constexpr std::array<Reader, sizeof...(I)> make_readers(std::index_sequence<I...>) {
  return {body_as<std::variant_alternative_t<I, Message>>...};
}

constexpr auto readers = make_readers(std::make_index_sequence<std::variant_size_v<Message>>{});

}  // namespace

Result<std::string> encode(const Message& message) {
  Envelope envelope{message.index() + 1,
                    std::visit([](const auto& body) { return encode_record(body); }, message)};
  std::string bytes = encode_record(envelope);
  if (bytes.size() > message_bytes_max)
    return Error{Fault::malformed,
                 "a message of " + std::to_string(bytes.size()) + " bytes is too large to send",
                 "send it as a blob",
                 {}};
  return bytes;
}

Result<Message> decode(std::string_view bytes) {
  if (bytes.size() > message_bytes_max)
    return Error{Fault::malformed, "the message is larger than a message may be", "", {}};
  Result<Envelope> envelope = decode_record<Envelope>(bytes, limits);
  if (!envelope) return envelope.error();
  if (envelope->kind == 0) return Error{Fault::malformed, "a message without a kind", "", {}};
  if (envelope->kind > readers.size())
    return Error{Fault::unsupported, "a message of a kind that this program does not know", "", {}};
  return readers[envelope->kind - 1](envelope->body);
}

}  // namespace lathe::cluster
