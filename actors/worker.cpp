// A worker's two pipes: what it is given, and what it says while it works and at its end.

#include <unistd.h>

#include <cstdio>
#include <vector>

#include "actors/work.h"

namespace lathe::actors {
namespace {

enum class Kind : std::uint8_t { unit = 1, reply = 2 };

/// Of what follows a size: more is no worker's doing.
constexpr std::uint64_t bytes_most = std::uint64_t{512} << 20;

std::string size_bytes(std::uint64_t size) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  return bytes;
}

std::uint64_t read_size(std::string_view bytes) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 8; ++i) size = size << 8 | static_cast<std::uint8_t>(bytes[i]);
  return size;
}

bool say(Kind kind, const std::string& bytes) {
  std::string head = static_cast<char>(kind) + size_bytes(bytes.size());
  return std::fwrite(head.data(), 1, head.size(), stdout) == head.size() &&
         std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
         std::fflush(stdout) == 0;
}

WorkReply reply_to(std::string_view input) {
  Result<WorkRequest> request = Error{Fault::malformed, "a worker without a request", "", {}};
  Errand errand;
  if (input.size() >= 8 && read_size(input) <= input.size() - 8) {
    std::uint64_t size = read_size(input);
    request = decode_request(input.substr(8, size));
    errand.journal = input.substr(8 + size);
  }
  // Nobody listens any more: the node is gone, and so will this process be.
  errand.note = [](const std::string& unit) { static_cast<void>(say(Kind::unit, unit)); };
  if (request) return run_work(*request, errand);
  WorkReply reply;
  reply.error = request.error();
  return reply;
}

}  // namespace

std::string worker_input(const Errand& errand) {
  return size_bytes(errand.request.size()) + errand.request + errand.journal;
}

void WorkerOutput::take(std::string_view bytes) {
  constexpr std::size_t head = 9;
  if (damaged_) return;
  open_ += bytes;
  while (open_.size() >= head && reply_.empty()) {
    std::uint64_t size = read_size(std::string_view(open_).substr(1));
    auto kind = static_cast<Kind>(open_[0]);
    damaged_ = size > bytes_most || (kind != Kind::unit && kind != Kind::reply);
    if (damaged_ || open_.size() - head < size) return;
    std::string body = open_.substr(head, size);
    open_.erase(0, head + size);
    if (kind == Kind::reply)
      reply_ = std::move(body);
    else if (note_)
      note_(body);
  }
}

int worker_main() {
  std::string input;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    ssize_t count = ::read(0, buffer.data(), buffer.size());
    if (count <= 0) break;
    input.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return say(Kind::reply, encode(reply_to(input))) ? 0 : 74;
}

}  // namespace lathe::actors
