// Small kernels whose outputs a real device witnessed: exact ones must agree bit for bit, and
// approximate functions within the manual's error.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/json.h"
#include "tests/places.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

namespace fs = std::filesystem;

fs::path conformance_file() {
  if (const char* shared = std::getenv("LATHE_SHARED"))
    return fs::path(shared) / "data/scalar_conformance.jsonl";
  for (const char* up : {"../shared", "../../shared"}) {
    fs::path path = fs::path(source_folder) / up / "data/scalar_conformance.jsonl";
    if (fs::exists(path)) return path;
  }
  return {};
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

bool is_approximate(const std::string& ptx) {
  for (const char* word :
       {"div.approx", "div.full", "rcp.approx", "sqrt.approx", "sin.", "cos.", "ex2.", "lg2."})
    if (ptx.find(word) != std::string::npos) return true;
  return false;
}

/// A relative error of 2^-20, or an absolute one of 2^-20 for sin and cos near their zeros.
template <class F>
bool close(const std::vector<std::byte>& ours, const std::vector<std::byte>& theirs) {
  for (std::size_t i = 0; i + sizeof(F) <= theirs.size(); i += sizeof(F)) {
    F a, b;
    std::memcpy(&a, ours.data() + i, sizeof a);
    std::memcpy(&b, theirs.data() + i, sizeof b);
    if (a == b || (a != a && b != b)) continue;
    double x = static_cast<double>(a), y = static_cast<double>(b);
    if (!(std::fabs(x - y) <= 1e-6 * std::fabs(y) + 1e-6 * (std::fabs(y) < 1 ? 1 : 0)))
      return false;
  }
  return true;
}

TEST_CASE("kernels that a device witnessed give the same bits here") {
  fs::path path = conformance_file();
  if (!fs::exists(path)) {
    WARN("LATHE-SKIP: the witnessed kernels are not here");
    return;
  }
  std::ifstream in(path);
  std::size_t exact = 0, near = 0, kernels = 0, refused = 0, wrong = 0;
  for (std::string line; std::getline(in, line); ++kernels) {
    Json record = Json::parse(line);
    std::string name = record["name"], text = record["ptx"];
    Parsed parsed = parse(text, name);
    Result<Program> program = Error{};
    if (parsed.errors.empty()) program = decode(parsed.module, "test");
    if (!parsed.errors.empty() || !program) {
      const Error& error = parsed.errors.empty() ? program.error() : parsed.errors[0];
      WARN("refused " << name << ": " << error.what << " (" << error.remedy << ") line "
                      << error.place.line);
      ++refused;
      continue;
    }
    bool same = true, alike = true;
    for (const auto& pair : record["cases"]) {
      Launched launch;
      std::vector<std::byte> input = from_hex(pair[0]), wanted = from_hex(pair[1]);
      launch.shape.block[0] = record["threads"];
      launch.shape.grid[0] = record["blocks"];
      launch.add(std::vector<std::byte>(wanted.size()));
      launch.add(input);
      launch.request.steps_max = 100000;
      const RunResult& result = launch.run(*program);
      if (result.trap) {
        WARN(name << ": " << print(*result.trap));
        same = alike = false;
        break;
      }
      if (launch.buffers[0] != wanted) {
        std::string type = record["out_types"];
        bool close_enough =
            is_approximate(text) && (type.starts_with("f64") || type.starts_with("d")
                                         ? close<double>(launch.buffers[0], wanted)
                                         : close<float>(launch.buffers[0], wanted));
        if (!close_enough && alike)
          WARN(name << " gives " << Catch::Detail::stringify(launch.get<std::uint32_t>(0))
                    << " for " << pair[0] << ", not " << pair[1]);
        same = false;
        alike = alike && close_enough;
      }
    }
    exact += same;
    near += alike && !same;
    wrong += !alike;
  }
  WARN(exact << " of " << kernels << " kernels agree bit for bit, " << near
             << " approximate ones within 1e-6; " << refused << " refused, " << wrong << " wrong");
  CHECK(refused == 0);
  CHECK(wrong == 0);
  CHECK(exact + near == kernels);
}

}  // namespace
}  // namespace lathe::ptx
