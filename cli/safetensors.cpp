#include "cli/safetensors.h"

#include <map>

#include "base/json.h"

namespace lathe::cli {
namespace {

const std::map<Dtype, const char*> names{
    {Dtype::f64, "F64"},      {Dtype::f32, "F32"},      {Dtype::f16, "F16"}, {Dtype::bf16, "BF16"},
    {Dtype::e4m3, "F8_E4M3"}, {Dtype::e5m2, "F8_E5M2"}, {Dtype::s64, "I64"}, {Dtype::s32, "I32"},
    {Dtype::s16, "I16"},      {Dtype::s8, "I8"},        {Dtype::u64, "U64"}, {Dtype::u32, "U32"},
    {Dtype::u16, "U16"},      {Dtype::u8, "U8"}};

constexpr std::uint64_t header_bytes_max = 100'000'000;

Error damaged(const std::string& why) {
  return {Fault::malformed, "this is no safetensors file: " + why, "", {}};
}

}  // namespace

Result<std::string> write_safetensors(const std::string& key, Dtype dtype,
                                      const std::vector<std::uint64_t>& shape,
                                      std::string_view elements) {
  auto name = names.find(dtype);
  if (name == names.end())
    return Error{Fault::unsupported,
                 "safetensors has no element type " + std::string(name_of(dtype)),
                 "",
                 {}};
  Json header;
  header[key] = {{"dtype", name->second},
                 {"shape", shape},
                 {"data_offsets", {std::uint64_t{0}, std::uint64_t{elements.size()}}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file;
  for (unsigned i = 0; i < 8; ++i)
    file += static_cast<char>((std::uint64_t{text.size()} >> (8 * i)) & 0xff);
  return file + text + std::string(elements);
}

Result<std::string> read_safetensors(std::string_view file, const std::string& key) {
  if (file.size() < 8) return damaged("it has no header");
  std::uint64_t length = 0;
  for (unsigned i = 0; i < 8; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(file[i])} << (8 * i);
  if (length > header_bytes_max || length > file.size() - 8)
    return damaged("its header is longer than it");
  Json header = Json::parse(file.substr(8, length), nullptr, false);
  if (!header.is_object()) return damaged("its header is no JSON object");
  if (!header.contains(key)) return damaged("it has no tensor " + key);
  const Json& entry = header[key];
  const Json* offsets =
      entry.is_object() && entry.contains("data_offsets") ? &entry["data_offsets"] : nullptr;
  if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
    return damaged("it does not say where " + key + " lies");
  std::uint64_t begin = (*offsets)[0], end = (*offsets)[1], room = file.size() - 8 - length;
  if (begin > end || end > room) return damaged("it ends before " + key + " does");
  return std::string(file.substr(8 + length + begin, end - begin));
}

}  // namespace lathe::cli
