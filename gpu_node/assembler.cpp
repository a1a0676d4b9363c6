#include "gpu_node/assembler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/environment.h"
#include "base/process.h"

namespace lathe::gpu_node {
namespace {

namespace fs = std::filesystem;

// clang-format off
/// Toolkit release and the newest PTX that its ptxas reads.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> releases{{
    {"12.0", "8.0"}, {"12.1", "8.1"}, {"12.2", "8.2"}, {"12.3", "8.3"}, {"12.4", "8.4"},
    {"12.6", "8.5"}, {"12.7", "8.6"}, {"12.8", "8.7"}, {"12.9", "8.8"}, {"13.0", "9.0"},
    {"13.1", "9.1"}, {"13.2", "9.2"}, {"13.3", "9.3"}, {"13.4", "9.4"},
}};
// clang-format on

std::vector<fs::path> split_path(std::string_view list) {
  std::vector<fs::path> folders;
  while (!list.empty()) {
    std::size_t colon = list.find(':');
    std::string_view one = list.substr(0, colon);
    if (!one.empty()) folders.emplace_back(one);
    if (colon == std::string_view::npos) break;
    list.remove_prefix(colon + 1);
  }
  return folders;
}

void add_tool_folders(const fs::path& from, std::vector<fs::path>& folders) {
  for (fs::path at = from; !at.empty(); at = at.parent_path()) {
    std::error_code code;
    if (fs::is_directory(at / ".tools", code)) folders.push_back(at / ".tools");
    if (at == at.root_path()) break;
  }
}

/// The programs in a stable order, each once.
std::vector<fs::path> programs_of(const Places& places) {
  std::vector<fs::path> found = places.programs;
  for (const fs::path& folder : places.tool_folders) {
    std::vector<fs::path> inside;
    std::error_code code;
    fs::recursive_directory_iterator walk(folder, fs::directory_options::skip_permission_denied,
                                          code);
    for (; !code && walk != fs::recursive_directory_iterator(); walk.increment(code))
      if (walk->path().filename() == "ptxas" && walk->path().parent_path().filename() == "bin")
        inside.push_back(walk->path());
    std::sort(inside.begin(), inside.end());
    found.insert(found.end(), inside.begin(), inside.end());
  }
  std::set<fs::path> seen;
  std::vector<fs::path> once;
  for (const fs::path& program : found) {
    std::error_code code;
    fs::path real = fs::canonical(program, code);
    if (code || !fs::is_regular_file(real, code)) continue;
    if (seen.insert(real).second) once.push_back(real);
  }
  return once;
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::size_t at = text.rfind('\n');
  return std::string(at == std::string_view::npos ? text : text.substr(at + 1));
}

bool is_version(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string version_of(std::string_view text) {
  std::size_t at = text.find(", V");
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + 3);
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

std::string ask(const fs::path& program, const char* option) {
  ProcessLimits limits;
  limits.wall = std::chrono::seconds(20);
  Result<ProcessEnd> end = run_process({program.string(), option}, "", limits);
  if (!end || end->status != 0 || end->signal != 0 || end->timed_out) return {};
  return end->out;
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    std::array<unsigned, 2> number{0, 0};
    std::size_t side = 0;
    for (std::string_view* text : {&a, &b}) {
      std::from_chars(text->data(), text->data() + text->size(), number[side++]);
      std::size_t dot = text->find('.');
      *text = dot == std::string_view::npos ? std::string_view{} : text->substr(dot + 1);
    }
    if (number[0] != number[1]) return number[0] < number[1] ? -1 : 1;
  }
  return 0;
}

std::string ptx_isa_of_release(std::string_view version) {
  std::string_view best;
  for (const auto& [release, isa] : releases)
    if (compare_versions(release, version) <= 0) best = isa;
  return std::string(best);
}

Places usual_places() {
  Places places;
  if (auto named = environment_variable("LATHE_PTXAS")) places.programs.emplace_back(*named);
  if (auto home = environment_variable("CUDA_HOME"))
    places.programs.push_back(fs::path(*home) / "bin" / "ptxas");
  for (const fs::path& folder : split_path(environment_variable("PATH").value_or("")))
    places.programs.push_back(folder / "ptxas");
  std::vector<fs::path> toolkits;
  std::error_code code;
  fs::directory_iterator walk("/usr/local", code);
  for (; !code && walk != fs::directory_iterator(); walk.increment(code))
    if (walk->path().filename().string().starts_with("cuda"))
      toolkits.push_back(walk->path() / "bin" / "ptxas");
  std::sort(toolkits.begin(), toolkits.end());
  places.programs.insert(places.programs.end(), toolkits.begin(), toolkits.end());
  add_tool_folders(fs::current_path(code), places.tool_folders);
  add_tool_folders(own_program().parent_path(), places.tool_folders);
  return places;
}

std::vector<Assembler> find_assemblers(const Places& places) {
  std::vector<Assembler> assemblers;
  for (const fs::path& program : programs_of(places)) {
    Assembler one{program, version_of(ask(program, "--version")), {}};
    if (one.version.empty()) continue;
    std::string listed = last_line(ask(program, "--list-version"));
    one.ptx_isa_max = is_version(listed) ? listed : ptx_isa_of_release(one.version);
    if (one.ptx_isa_max.empty()) continue;
    bool known = std::any_of(assemblers.begin(), assemblers.end(),
                             [&](const Assembler& other) { return other.version == one.version; });
    if (!known) assemblers.push_back(std::move(one));
  }
  std::stable_sort(assemblers.begin(), assemblers.end(), [](const auto& a, const auto& b) {
    return compare_versions(a.version, b.version) > 0;
  });
  return assemblers;
}

std::vector<Assembler> find_assemblers() { return find_assemblers(usual_places()); }

Result<Assembler> choose_assembler(const std::vector<Assembler>& assemblers,
                                   const std::string& ptx_isa) {
  for (const Assembler& one : assemblers)
    if (compare_versions(one.ptx_isa_max, ptx_isa) >= 0) return one;
  std::string release;
  for (const auto& [name, isa] : releases)
    if (compare_versions(isa, ptx_isa) >= 0) {
      release = name;
      break;
    }
  std::string have = assemblers.empty() ? "there is no ptxas here"
                                        : "the newest ptxas here, " + assemblers[0].version +
                                              ", reads PTX up to " + assemblers[0].ptx_isa_max;
  std::string need = release.empty() ? "a newer CUDA toolkit" : "CUDA " + release + " or newer";
  return Error{Fault::unavailable,
               "no assembler reads PTX " + ptx_isa + ": " + have,
               need +
                   " is needed: install the toolkit, or unpack the Python registry's "
                   "nvidia-cuda-nvcc package into .tools/, or name a ptxas in LATHE_PTXAS",
               {},
               Absent::service};
}

Result<Assembler> choose_assembler(const std::string& ptx_isa) {
  return choose_assembler(find_assemblers(), ptx_isa);
}

}  // namespace lathe::gpu_node
