// The request through libcurl. Redirects are not followed: they would carry the key elsewhere.

#include "planner/providers/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace lathe::planner::http {
namespace {

using Clock = std::chrono::steady_clock;

struct Transfer {
  Limits limits;
  Answer answer;
  Clock::time_point begin = Clock::now(), last = Clock::now();
  bool first = false;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  std::size_t total = size * count;
  transfer.first = true;
  transfer.last = Clock::now();
  if (transfer.answer.body.size() + total > transfer.limits.reply_bytes_max) {
    transfer.answer.broken = Answer::Broken::too_large;
    return 0;
  }
  transfer.answer.body.append(bytes, total);
  return total;
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  std::string line(bytes, size * count);
  std::size_t colon = line.find(':');
  if (colon == std::string::npos) return size * count;
  std::string name = lower(line.substr(0, colon)), value = line.substr(colon + 1);
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t\r\n") + 1);
  if (name == "content-type") transfer.answer.type = lower(value);
  if (name == "retry-after") {
    char* end = nullptr;
    double seconds = std::strtod(value.c_str(), &end);
    if (end != value.c_str() && *end == 0 && seconds >= 0 && seconds < 86'400)
      transfer.answer.retry_after = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  }
  return size * count;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(context);
  Clock::time_point now = Clock::now();
  auto& broken = transfer.answer.broken;
  if (now - transfer.begin > transfer.limits.whole)
    broken = Answer::Broken::whole;
  else if (!transfer.first && now - transfer.begin > transfer.limits.first_byte)
    broken = Answer::Broken::first_byte;
  else if (transfer.first && now - transfer.last > transfer.limits.idle)
    broken = Answer::Broken::idle;
  return broken == Answer::Broken::none ? 0 : 1;
}

const char* phrase(Answer::Broken broken) {
  switch (broken) {
    case Answer::Broken::none:
      return "";
    case Answer::Broken::connect:
      return "no connection";
    case Answer::Broken::first_byte:
      return "no first byte in time";
    case Answer::Broken::idle:
      return "the answer stood still";
    case Answer::Broken::whole:
      return "the whole answer took too long";
    case Answer::Broken::cut_off:
      return "the answer was cut off";
    case Answer::Broken::too_large:
      return "the answer is larger than is read";
  }
  return "";
}

void classify(CURLcode code, Transfer& transfer) {
  Answer& answer = transfer.answer;
  if (code == CURLE_OK) return;
  if (answer.broken == Answer::Broken::none) {
    bool before = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
                  code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
                  code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                  (code == CURLE_OPERATION_TIMEDOUT && !transfer.first);
    answer.broken = before ? Answer::Broken::connect : Answer::Broken::cut_off;
  }
  answer.what = std::string(phrase(answer.broken)) + " (" + curl_easy_strerror(code) + ")";
}

}  // namespace

Answer post(const std::string& url, const std::vector<std::string>& headers,
            const std::string& body, const Limits& limits) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  Transfer transfer{limits, {}};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  curl_slist* list = nullptr;
  for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> owned(list, &curl_slist_free_all);
  CURL* c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &transfer);
  classify(curl_easy_perform(c), transfer);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  return std::move(transfer.answer);
}

}  // namespace lathe::planner::http
