// A contract's directory: contract.toml, reference.ptx, and the files that `values` name.

#include "base/files.h"
#include "contract/contract.h"

namespace lathe {
namespace {

constexpr std::uint64_t value_file_bytes_max = std::uint64_t{1} << 32;

void load_value_files(ParsedContract& parsed, std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto* file = std::get_if<Values::File>(&tensors[i].values.kind);
    if (file == nullptr || file->bytes != nullptr) continue;
    auto bytes = read_file(parsed.contract.directory / file->path, value_file_bytes_max);
    if (!bytes) {
      parsed.errors.push_back(bytes.error());
    } else if (bytes->size() != tensors[i].span_bytes()) {
      parsed.errors.push_back({Fault::malformed,
                               "`tensor[" + tensors[i].name + "].values`: " + file->path + " has " +
                                   std::to_string(bytes->size()) + " bytes, but the tensor spans " +
                                   std::to_string(tensors[i].span_bytes()),
                               "write the tensor's bytes from its first element to its last",
                               parsed.places.tensors[i]});
    } else {
      file->bytes = std::make_shared<const std::string>(*std::move(bytes));
    }
  }
}

/// A contract's text; a pipe or a device under its name would never end, or end elsewhere.
Result<std::string> read_member(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::file_status status = std::filesystem::status(path, ignored);
  bool odd = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
             !std::filesystem::is_directory(status);
  if (odd)
    return Error{Fault::malformed,
                 "a contract's files are plain files, and this is none",
                 "put the text itself there",
                 {path.string(), 0, 0}};
  return read_text(path);
}

}  // namespace

ParsedContract load_contract(const std::filesystem::path& directory) {
  ParsedContract parsed;
  std::filesystem::path toml = directory / "contract.toml";
  auto text = read_member(toml);
  if (!text) {
    parsed.errors.push_back(text.error());
    if (parsed.errors.front().fault == Fault::unavailable)
      parsed.errors.front().remedy = "name a contract's directory: one that holds contract.toml";
    return parsed;
  }
  parsed = parse_whole_contract(*text, toml.string());
  parsed.contract.directory = directory;
  auto reference = read_member(directory / "reference.ptx");
  if (reference)
    parsed.contract.reference = *std::move(reference);
  else
    parsed.errors.push_back(reference.error());
  if (!parsed.errors.empty()) return parsed;
  load_value_files(parsed, parsed.contract.tensors);
  for (Case& each : parsed.contract.cases) load_value_files(parsed, each.tensors);
  return parsed;
}

Result<Contract> read_contract(const std::filesystem::path& directory) {
  ParsedContract parsed = load_contract(directory);
  if (!parsed.errors.empty()) return parsed.errors.front();
  return std::move(parsed.contract);
}

}  // namespace lathe
