#pragma once

// One HTTP POST with the time limits that a language model needs: until the first byte, between
// bytes, and for the whole. The only file that knows libcurl is http.cpp.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::planner::http {

struct Limits {
  std::chrono::milliseconds connect, first_byte, idle, whole;
  std::uint64_t reply_bytes_max;
};

struct Answer {
  /// What went wrong below HTTP; `none` where a whole answer came.
  enum class Broken : std::uint8_t { none, connect, first_byte, idle, whole, cut_off, too_large };
  Broken broken = Broken::none;
  std::string what;  // Of broken: one phrase, without the request.
  long status = 0;
  std::string type;                         // Content-Type.
  std::chrono::milliseconds retry_after{};  // 0: not said. A date counts as not said.
  std::string body;
};

/// `headers` as "Name: value"; they may hold a key and are never part of an Answer.
Answer post(const std::string& url, const std::vector<std::string>& headers,
            const std::string& body, const Limits& limits);

}  // namespace lathe::planner::http
