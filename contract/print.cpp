// A contract as its canonical text, and its identity.

#include <algorithm>
#include <bit>

#include "base/toml.h"
#include "contract/contract.h"
#include "contract/read_parts.h"
#include "contract/values.h"

namespace lathe {
namespace {

template <class Numbers>
std::string numbers(const Numbers& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

std::string strings(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) text += (text.size() > 1 ? ", " : "") + quote_toml(value);
  return text + "]";
}

std::string boxes(const std::vector<Box>& defined) {
  std::string text = "[";
  for (const Box& box : defined) {
    text += text.size() > 1 ? ", [" : "[";
    for (std::size_t i = 0; i < box.size(); ++i) text += (i > 0 ? ", " : "") + numbers(box[i]);
    text += "]";
  }
  return text + "]";
}

void line(std::string& text, const std::string& key, const std::string& value) {
  text += key + " = " + value + "\n";
}

bool has_values(const Tensor& tensor) {
  return tensor.role == Role::input || tensor.role == Role::inout;
}

void print_launch(std::string& text, const Launch& launch) {
  text += "\n[launch]\n";
  line(text, "grid", numbers(launch.grid));
  line(text, "block", numbers(launch.block));
  line(text, "cluster", numbers(launch.cluster));
  line(text, "dynamic_shared_bytes", std::to_string(launch.dynamic_shared_bytes));
  if (launch.pdl) line(text, "pdl", "true");
  if (launch.cooperative) line(text, "cooperative", "true");
  line(text, "allow", strings(launch.allow));
}

void print_map(std::string& text, const HostMap& map, const std::string& tensor) {
  std::string value = "{tensor = " + quote_toml(tensor) + ", box = " + numbers(map.box);
  if (!map.element_strides.empty()) value += ", element_strides = " + numbers(map.element_strides);
  value += ", swizzle = " + quote_toml(map.swizzle);
  line(text, "tensormap", value + (map.nan_fill ? ", fill = \"nan\"}" : "}"));
}

void print_parameter(std::string& text, const Parameter& parameter,
                     const std::vector<Tensor>& tensors) {
  text += "\n[[parameter]]\n";
  line(text, "name", quote_toml(parameter.name));
  if (parameter.map) return print_map(text, *parameter.map, tensors[*parameter.tensor].name);
  if (parameter.tensor) line(text, "tensor", quote_toml(tensors[*parameter.tensor].name));
  if (!parameter.tensor || parameter.type != ParameterType::u64)
    line(text, "type", quote_toml(name_of(parameter.type)));
  if (!parameter.tensor) line(text, "value", print_scalar(parameter.type, parameter.bits));
}

void print_tensor(std::string& text, const Tensor& tensor) {
  text += "\n[[tensor]]\n";
  line(text, "name", quote_toml(tensor.name));
  line(text, "dtype", quote_toml(name_of(tensor.dtype)));
  line(text, "shape", numbers(tensor.shape));
  line(text, "strides", numbers(tensor.strides));
  line(text, "role", quote_toml(name_of(tensor.role)));
  line(text, "align", std::to_string(tensor.align));
  if (has_values(tensor)) line(text, "values", print_values(tensor.values));
  if (!tensor.defined.empty()) line(text, "defined", boxes(tensor.defined));
}

void print_precision(std::string& text, const Precision& precision) {
  if (precision.operand.empty() && precision.accumulate.empty() && !precision.tensor_cores) return;
  text += "\n[precision]\n";
  if (!precision.operand.empty()) line(text, "operand", quote_toml(precision.operand));
  if (!precision.accumulate.empty()) line(text, "accumulate", quote_toml(precision.accumulate));
  if (precision.tensor_cores)
    line(text, "tensor_cores", *precision.tensor_cores ? "true" : "false");
}

/// Only what differs from the contract, so that the text says what the case is about.
void print_case(std::string& text, const Case& made, const Contract& contract) {
  text += "\n[[case]]\n";
  line(text, "name", quote_toml(made.name));
  if (made.launch.grid != contract.launch.grid)
    line(text, "launch.grid", numbers(made.launch.grid));
  for (std::size_t i = 0; i < made.parameters.size(); ++i) {
    const Parameter& parameter = made.parameters[i];
    if (parameter.bits != contract.parameters[i].bits)
      line(text, "scalar." + key_toml(parameter.name),
           print_scalar(parameter.type, parameter.bits));
  }
  for (std::size_t i = 0; i < made.tensors.size(); ++i) {
    const Tensor &tensor = made.tensors[i], &base = contract.tensors[i];
    std::string key = "tensor." + key_toml(tensor.name) + ".";
    bool moved = tensor.shape != base.shape || tensor.strides != base.strides;
    if (moved) {
      line(text, key + "shape", numbers(tensor.shape));
      line(text, key + "strides", numbers(tensor.strides));
    }
    std::string values = print_values(tensor.values);
    if (has_values(tensor) && values != print_values(base.values))
      line(text, key + "values", values);
    if (tensor.defined != base.defined || (moved && !tensor.defined.empty()))
      line(text, key + "defined", boxes(tensor.defined));
  }
}

/// `key=length:bytes\n`: no two different lists of fields have one encoding.
class Canonical {
 public:
  void add(std::string_view key, std::string_view value) {
    text_ += std::string(key) + "=" + std::to_string(value.size()) + ":";
    text_ += value;
    text_ += "\n";
  }
  void add(std::string_view key, std::uint64_t value) { add(key, std::to_string(value)); }
  void add(std::string_view key, double value) {
    add(key, std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
  }

  void add(const Launch& launch) {
    add("grid", numbers(launch.grid));
    add("block", numbers(launch.block));
    add("cluster", numbers(launch.cluster));
    add("dynamic_shared_bytes", std::uint64_t{launch.dynamic_shared_bytes});
    add("pdl", std::uint64_t{launch.pdl});
    add("cooperative", std::uint64_t{launch.cooperative});
    add("allow", strings(launch.allow));
  }

  void add(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      add("parameter", parameter.name);
      add("type", name_of(parameter.type));
      if (parameter.map) {
        add("box", numbers(parameter.map->box));
        add("element_strides", numbers(parameter.map->element_strides));
        add("swizzle", parameter.map->swizzle);
        add("nan_fill", std::uint64_t{parameter.map->nan_fill});
      }
      if (parameter.tensor)
        add("tensor", std::uint64_t{*parameter.tensor});
      else
        add("bits", parameter.bits);
    }
  }

  void add(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      add("tensor", tensor.name);
      add("dtype", name_of(tensor.dtype));
      add("shape", numbers(tensor.shape));
      add("strides", numbers(tensor.strides));
      add("role", name_of(tensor.role));
      add("align", tensor.align);
      add("defined", boxes(tensor.defined));
      if (!has_values(tensor)) continue;
      const auto* file = std::get_if<Values::File>(&tensor.values.kind);
      if (file != nullptr)
        add("file", hex(sha256(file->bytes == nullptr ? std::string_view{} : *file->bytes)));
      else
        add("values", print_values(tensor.values));
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string print_contract(const Contract& contract) {
  std::string text;
  line(text, "format", "1");
  line(text, "name", quote_toml(contract.name));
  line(text, "entry", quote_toml(contract.entry));
  line(text, "target", quote_toml(contract.target));
  line(text, "ptx_isa", quote_toml(contract.ptx_isa));
  print_launch(text, contract.launch);
  for (const Parameter& parameter : contract.parameters)
    print_parameter(text, parameter, contract.tensors);
  for (const Tensor& tensor : contract.tensors) print_tensor(text, tensor);
  text += "\n[tolerance]\n";
  line(text, "absolute", print_real(contract.tolerance.absolute));
  line(text, "relative", print_real(contract.tolerance.relative));
  line(text, "error_factor", print_real(contract.tolerance.error_factor));
  print_precision(text, contract.precision);
  if (!contract.constants.empty()) text += "\n[constants]\n";
  for (const auto& [key, value] : contract.constants) line(text, key_toml(key), value);
  for (const Case& made : contract.cases) print_case(text, made, contract);
  return text;
}

Digest Contract::identity() const {
  Canonical canonical;
  canonical.add("lathe", "contract/1");
  canonical.add("entry", entry);
  canonical.add("target", target);
  canonical.add("ptx_isa", ptx_isa);
  canonical.add(launch);
  canonical.add(parameters);
  canonical.add(tensors);
  canonical.add("absolute", tolerance.absolute);
  canonical.add("relative", tolerance.relative);
  canonical.add("error_factor", tolerance.error_factor);
  canonical.add("operand", precision.operand);
  canonical.add("accumulate", precision.accumulate);
  canonical.add("tensor_cores",
                precision.tensor_cores ? (*precision.tensor_cores ? "true" : "false") : "");
  auto sorted = constants;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [key, value] : sorted) canonical.add("constant " + key, value);
  for (const Case& each : cases) {
    canonical.add("case", each.name);
    canonical.add(each.launch);
    canonical.add(each.parameters);
    canonical.add(each.tensors);
  }
  canonical.add("reference", hex(sha256(reference)));
  return sha256(canonical.text());
}

}  // namespace lathe
