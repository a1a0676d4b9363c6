// The archive's bytes: counts and texts with their lengths, compressed as a whole.

#include "tests/witness/archive.h"

#include <cstring>

#include "base/compress.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::string_view head = "lathe witness 2\n";
constexpr std::string_view head_without_launches = "lathe witness 1\n";
constexpr std::uint64_t bytes_max = 1u << 28;

void put(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  std::uint32_t number() {
    std::uint32_t n = 0;
    std::string_view bytes = take(sizeof n);
    if (good_) std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }
  std::string text() { return std::string(take(number())); }

 private:
  std::string_view take(std::size_t count) {
    good_ = good_ && count <= rest_.size();
    if (!good_) return {};
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string pack(const Archive& archive) {
  std::string raw;
  put(raw, archive.device);
  put(raw, static_cast<std::uint32_t>(archive.inputs.size()));
  for (const std::string& input : archive.inputs) put(raw, input);
  put(raw, static_cast<std::uint32_t>(archive.records.size()));
  for (const Record& record : archive.records) {
    for (const std::string* text :
         {&record.name, &record.mnemonic, &record.variables, &record.body, &record.launch})
      put(raw, *text);
    for (std::uint32_t number :
         {record.blocks, record.threads, record.vectors, static_cast<std::uint32_t>(record.input)})
      put(raw, number);
  }
  // Outputs stand together, so that texts stay near texts like them.
  for (const Record& record : archive.records) put(raw, record.output);
  return std::string(head) + compress(raw);
}

Result<Archive> unpack(std::string_view bytes) {
  Error broken{Fault::malformed, "these are no whole witness archive", "", {}};
  bool launches = bytes.starts_with(head);
  if (!launches && !bytes.starts_with(head_without_launches)) return broken;
  Result<std::string> raw = decompress(bytes.substr(head.size()), bytes_max);
  if (!raw) return raw.error();
  Reader reader(*raw);
  Archive archive;
  archive.device = reader.text();
  for (std::uint32_t i = reader.number(); i > 0 && reader.good(); --i)
    archive.inputs.push_back(reader.text());
  for (std::uint32_t i = reader.number(); i > 0 && reader.good(); --i) {
    Record record;
    for (std::string* text : {&record.name, &record.mnemonic, &record.variables, &record.body})
      *text = reader.text();
    if (launches) record.launch = reader.text();
    record.blocks = reader.number(), record.threads = reader.number();
    record.vectors = reader.number(), record.input = reader.number();
    if (record.input >= archive.inputs.size()) return broken;
    archive.records.push_back(std::move(record));
  }
  for (Record& record : archive.records) record.output = reader.text();
  if (!reader.good()) return broken;
  return archive;
}

}  // namespace lathe::ptx::witness
