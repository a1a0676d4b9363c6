// The text around the one instruction.

#include "tests/witness/kernel.h"

#include <cstring>

namespace lathe::ptx::witness {
namespace {

std::string_view register_type(Type type) {
  if (type == Type::pred) return "pred";
  switch (cell_bytes(type)) {
    case 2:
      return "b16";
    case 4:
      return "b32";
    case 8:
      return "b64";
    default:
      return "b128";
  }
}

unsigned column_bytes(Type type) { return type == Type::pred ? 4 : cell_bytes(type); }

void put(std::string& to, std::size_t offset, std::uint64_t bits, unsigned bytes) {
  std::memcpy(to.data() + offset, &bits, std::min(bytes, 8u));
  if (bytes == 16) {
    std::uint64_t other = ~bits;
    std::memcpy(to.data() + offset + 8, &other, 8);
  }
}

}  // namespace

std::string braced(const std::vector<std::string>& names) {
  std::string text = "{";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + name;
  return text + "}";
}

Part in(Type type, Use use) { return {Part::Kind::in, type, use, false, 1, {}}; }
Part out(Type type) { return {Part::Kind::out, type, Use::value, false, 1, {}}; }
Part fixed(std::string text) {
  return {Part::Kind::text, Type::b32, Use::value, false, 1, std::move(text)};
}

std::string entry_text(const Kernel& kernel, std::string_view entry) {
  std::string text = ".visible .entry " + std::string(entry) + "(.param .u64 out, .param .u64 in";
  for (std::size_t i = 0; i < kernel.launch.maps.size(); ++i)
    text += ", .param .align 64 .b8 map" + std::to_string(i) + "[128]";
  text += ")\n";
  if (kernel.launch.cluster > 1)
    text += ".explicitcluster\n.reqnctapercluster " + std::to_string(kernel.launch.cluster) +
            ", 1, 1\n";
  return text + "{\n" + kernel.body + "}\n";
}

std::string Kernel::module_text(std::string_view entry) const {
  return std::string(module_header) + variables + entry_text(*this, entry);
}

Writer::Writer(std::string name, std::string mnemonic, std::uint32_t blocks,
               std::uint32_t threads) {
  kernel_.name = std::move(name);
  kernel_.mnemonic = std::move(mnemonic);
  kernel_.blocks = blocks;
  kernel_.threads = threads;
  variable(".reg .b64 %in, %out;");
  variable(".reg .b32 %t, %i;");
  line("ld.param.u64 %out, [out];");
  line("ld.param.u64 %in, [in];");
  line("mov.u32 %t, %tid.x;");
  line("mov.u32 %i, %ctaid.x;");
  line("mad.lo.u32 %i, %i, " + std::to_string(threads) + ", %t;");
}

std::string Writer::declare(Type type) {
  std::string name = (type == Type::pred ? "%p" : "%x") + std::to_string(registers_++);
  variable(".reg ." + std::string(register_type(type)) + " " + name + ";");
  return name;
}

/// This thread's element of columns of so many bytes; made once.
std::string Writer::address(const char* base, unsigned bytes) {
  std::string key = base + std::to_string(bytes);
  for (const auto& [known, name] : addresses_)
    if (known == key) return name;
  std::string name = declare(Type::b64);
  line("mul.wide.u32 " + name + ", %i, " + std::to_string(bytes) + ";");
  line("add.s64 " + name + ", " + name + ", " + base + ";");
  addresses_.emplace_back(key, name);
  return name;
}

std::string Writer::input_area(unsigned bytes, const std::string& contents) {
  std::string at = address("%in", bytes), name = declare(Type::b64);
  line("add.s64 " + name + ", " + at + ", " + std::to_string(place_input(contents)) + ";");
  return name;
}

std::string Writer::output_area(unsigned bytes) {
  std::string at = address("%out", bytes), name = declare(Type::b64);
  std::size_t place = place_output(std::size_t{bytes} * count());
  line("add.s64 " + name + ", " + at + ", " + std::to_string(place) + ";");
  return name;
}

std::size_t Writer::place_input(const std::string& contents) {
  std::size_t place = (input_.size() + 127) / 128 * 128;
  input_.resize(place);
  input_ += contents;
  return place;
}

std::size_t Writer::place_output(std::size_t bytes) {
  std::size_t place = (output_ + 127) / 128 * 128;
  output_ = place + bytes;
  return place;
}

std::string Writer::map(const TensorMap& map, bool of_output) {
  std::string name = declare(Type::b64);
  line("mov.b64 " + name + ", map" + std::to_string(kernel_.launch.maps.size()) + ";");
  line("cvta.param.u64 " + name + ", " + name + ";");
  kernel_.launch.maps.push_back({map, of_output});
  return name;
}

std::string Writer::load_given(Type type, const std::vector<std::uint64_t>& elements) {
  std::string name = load(type);
  Pending pending = pending_.back();
  pending_.pop_back();
  unsigned bytes = column_bytes(type);
  for (std::size_t i = 0; i < elements.size(); ++i)
    put(input_, pending.offset + i * bytes, elements[i], bytes);
  return name;
}

std::string Writer::load(Type type, Use use) {
  unsigned bytes = column_bytes(type);
  std::string name = declare(type), at = address("%in", bytes);
  std::string place = "[" + at + "+" + std::to_string(input_.size()) + "]";
  pending_.push_back({{type, use}, input_.size()});
  input_.resize(input_.size() + std::size_t{bytes} * count());
  if (type == Type::pred) {
    std::string word = declare(Type::b32);
    line("ld.global.b32 " + word + ", " + place + ";");
    line("setp.ne.u32 " + name + ", " + word + ", 0;");
  } else if (bytes == 16) {
    std::string low = declare(Type::b64), high = declare(Type::b64);
    line("ld.global.v2.b64 {" + low + ", " + high + "}, " + place + ";");
    line("mov.b128 " + name + ", {" + low + ", " + high + "};");
  } else {
    line("ld.global.b" + std::to_string(8 * bytes) + " " + name + ", " + place + ";");
  }
  return name;
}

void Writer::store(const std::string& name, Type type) {
  unsigned bytes = column_bytes(type);
  std::string at = address("%out", bytes);
  output_ = (output_ + 15) / 16 * 16;
  std::string place = "[" + at + "+" + std::to_string(output_) + "]";
  output_ += std::size_t{bytes} * count();
  if (type == Type::pred) {
    std::string word = declare(Type::b32);
    line("selp.b32 " + word + ", 1, 0, " + name + ";");
    line("st.global.b32 " + place + ", " + word + ";");
  } else if (bytes == 16) {
    std::string low = declare(Type::b64), high = declare(Type::b64);
    line("mov.b128 {" + low + ", " + high + "}, " + name + ";");
    line("st.global.v2.b64 " + place + ", {" + low + ", " + high + "};");
  } else {
    line("st.global.b" + std::to_string(8 * bytes) + " " + place + ", " + name + ";");
  }
}

Kernel Writer::finish(std::uint64_t seed, std::uint32_t vectors) {
  std::vector<Column> columns;
  for (const Pending& each : pending_) columns.push_back(each.column);
  auto drawn = operand_vectors(columns, count(), seed);
  for (std::size_t j = 0; j < pending_.size(); ++j) {
    unsigned bytes = column_bytes(pending_[j].column.type);
    for (std::size_t i = 0; i < count(); ++i)
      put(input_, pending_[j].offset + i * bytes, drawn[j][i], bytes);
  }
  line("ret;");
  kernel_.body = declarations_ + lines_;
  kernel_.vectors = vectors;
  kernel_.input = std::move(input_);
  if (kernel_.input.empty()) kernel_.input.assign(16, '\0');
  kernel_.output_bytes = static_cast<std::uint32_t>(output_);
  return std::move(kernel_);
}

Kernel register_kernel(const Instance& instance, const Operands& operands, std::uint32_t threads,
                       std::uint32_t blocks, std::string_view variant) {
  std::string name = instance.mnemonic();
  if (!variant.empty()) name += " " + std::string(variant);
  Writer writer(name, instance.mnemonic(), blocks, threads);
  std::string text;
  std::vector<std::pair<std::string, Type>> results;
  for (const Part& part : operands) {
    text += text.empty() ? " " : ", ";
    if (part.kind == Part::Kind::text) {
      text += part.text;
      continue;
    }
    std::string names;
    for (unsigned i = 0; i < part.count; ++i) {
      bool input = part.kind == Part::Kind::in;
      std::string one = input ? writer.load(part.type, part.use) : writer.declare(part.type);
      if (!input) results.emplace_back(one, part.type);
      names += (i == 0 ? "" : ", ") + one;
    }
    text += part.count > 1 ? "{" + names + "}" : names;
    if (part.with_predicate) {
      results.emplace_back(writer.declare(Type::pred), Type::pred);
      text += "|" + results.back().first;
    }
  }
  writer.line(instance.mnemonic() + text + ";");
  for (const auto& [result, type] : results) writer.store(result, type);
  // Forms with the same operands share their vectors, and so the archive's room.
  return writer.finish(2024, writer.count());
}

}  // namespace lathe::ptx::witness
