// contract.toml as a whole, and what its tables say of one another.

#include <algorithm>

#include "base/files.h"
#include "base/names.h"
#include "contract/contract.h"
#include "contract/isa_versions.h"
#include "contract/read_parts.h"
#include "contract/values.h"

namespace lathe {
namespace {

constexpr std::int64_t format_version = 1;
constexpr double error_factor_max = 1000;
constexpr std::array<std::string_view, 10> operand_types{"f64",  "f32",  "tf32", "f16", "bf16",
                                                         "e4m3", "e5m2", "e2m1", "s8",  "u8"};
constexpr std::array<std::string_view, 6> accumulate_types{"f64",  "f32", "f16",
                                                           "bf16", "s32", "s64"};

struct TargetRow {
  std::string_view target;
  unsigned ptx_isa_least;
  std::string_view least_text;
};
constexpr std::array<TargetRow, 3> target_rows{
    {{"sm_89", 708, "7.8"}, {"sm_90a", 800, "8.0"}, {"sm_100a", 806, "8.6"}}};

class ContractReader {
 public:
  ContractReader(const TomlValue& root, ParsedContract& parsed, Complaints& complaints)
      : root_(root, "", complaints),
        contract_(parsed.contract),
        places_(parsed.places),
        complaints_(complaints) {}

  void read() {
    read_head();
    read_launch_table();
    for (const TomlValue* table : root_.tables("tensor", Need::required)) read_tensor_table(*table);
    for (const TomlValue* table : root_.tables("parameter", Need::required)) read_parameter(*table);
    check_tensors_named();
    read_tolerance();
    read_precision();
    read_constants();
    for (const TomlValue* table : root_.tables("case", Need::optional)) read_case(*table);
    root_.finish();
  }

 private:
  Place place_of(std::string_view key) const {
    const TomlMember* member = root_.self().find(key);
    return member == nullptr ? root_.self().place : member->value.place;
  }

  void read_head() {
    if (auto format = root_.integer("format", Need::required, 1, 1'000'000);
        format && *format != format_version)
      complaints_.add(place_of("format"),
                      "`format` is " + std::to_string(*format) + ", which this lathe cannot read",
                      "write `format = 1`, or use a newer lathe");
    contract_.name = root_.string("name", Need::required).value_or("");
    contract_.entry = root_.string("entry", Need::required).value_or("");
    contract_.target = root_.string("target", Need::required).value_or("");
    contract_.ptx_isa = root_.string("ptx_isa", Need::required).value_or("");
    places_.entry = place_of("entry");
    places_.target = place_of("target");
    places_.ptx_isa = place_of("ptx_isa");
    for (std::string_view key : {"name", "entry"}) {
      const TomlMember* member = root_.self().find(key);
      if (member != nullptr && member->value.kind == TomlValue::Kind::string &&
          member->value.text.empty())
        complaints_.add(member->value.place, root_.field(key) + " is empty", "write a name");
    }
    check_target();
  }

  void check_target() {
    if (contract_.target.empty() && root_.self().find("target") == nullptr) return;
    auto row = std::find_if(target_rows.begin(), target_rows.end(),
                            [&](const TargetRow& each) { return each.target == contract_.target; });
    if (row == target_rows.end()) {
      if (place_of("target").line == 0) return;
      complaints_.add(places_.target, "`target`: unknown target `" + contract_.target + "`",
                      "lathe lowers for " + list_names(known_targets));
    }
    if (root_.self().find("ptx_isa") == nullptr) return;
    auto version = version_number(contract_.ptx_isa);
    if (!version)
      complaints_.add(places_.ptx_isa, "`ptx_isa`: `" + contract_.ptx_isa + "` is no PTX version",
                      "write major.minor in double quotes, as in \"9.0\"");
    else if (row != target_rows.end() && *version < row->ptx_isa_least)
      complaints_.add(places_.ptx_isa,
                      "`ptx_isa` " + contract_.ptx_isa + " does not know " + contract_.target,
                      "write at least \"" + std::string(row->least_text) + "\"");
    else if (row != target_rows.end() && !is_known_isa(*version))
      complaints_.add(places_.ptx_isa,
                      "`ptx_isa`: there is no PTX " + contract_.ptx_isa + " that lathe knows",
                      "write one of \"" + std::string(row->least_text) + "\" to \"" +
                          std::string(known_ptx_isas.back()) + "\"");
  }

  static bool is_known_isa(unsigned version) {
    return std::any_of(known_ptx_isas.begin(), known_ptx_isas.end(),
                       [&](std::string_view known) { return version_number(known) == version; });
  }

  void read_launch_table() {
    const TomlValue* table = root_.table("launch", Need::required);
    if (table == nullptr) return;
    TableReader reader(*table, "launch", complaints_);
    LaunchPlaces places;
    contract_.launch = read_launch(reader, contract_.target, {}, places, true);
    places_.launch = places.table;
    places_.block = places.block;
    places_.cluster = places.cluster;
    places_.dynamic_shared_bytes = places.dynamic_shared_bytes;
  }

  static std::string title(const TomlValue& table, const std::string& kind, std::size_t index) {
    const TomlMember* name = table.find("name");
    bool named = name != nullptr && name->value.kind == TomlValue::Kind::string;
    return kind + "[" + (named ? name->value.text : std::to_string(index)) + "]";
  }

  /// Of the first of these keys that the table has, else of the table.
  static Place place_in(const TomlValue& table, std::initializer_list<std::string_view> keys) {
    for (std::string_view key : keys)
      if (const TomlMember* member = table.find(key)) return member->value.place;
    return table.place;
  }

  std::optional<std::size_t> find_tensor(std::string_view name) const {
    for (std::size_t i = 0; i < contract_.tensors.size(); ++i)
      if (contract_.tensors[i].name == name) return i;
    return std::nullopt;
  }

  void read_tensor_table(const TomlValue& table) {
    Tensor tensor =
        read_tensor(table, title(table, "tensor", contract_.tensors.size()), nullptr, complaints_);
    if (!tensor.name.empty() && find_tensor(tensor.name))
      complaints_.add(table.find("name")->value.place,
                      "two tensors are called `" + tensor.name + "`", "rename one of them");
    contract_.tensors.push_back(std::move(tensor));
    places_.tensors.push_back(table.place);
  }

  void read_parameter(const TomlValue& table) {
    std::size_t index = contract_.parameters.size();
    TableReader reader(table, title(table, "parameter", index), complaints_);
    Parameter parameter;
    parameter.name =
        reader.string("name", Need::optional).value_or("parameter" + std::to_string(index));
    for (const Parameter& other : contract_.parameters)
      if (other.name == parameter.name)
        complaints_.add(table.place, "two parameters are called `" + parameter.name + "`",
                        "rename one of them");
    if (const TomlValue* map = reader.table("tensormap", Need::optional)) {
      TableReader inner(*map, title(table, "parameter", index) + ".tensormap", complaints_);
      read_address(inner, parameter);
      std::size_t rank = parameter.tensor ? contract_.tensors[*parameter.tensor].shape.size() : 0;
      parameter.map = read_host_map(inner, rank);
      inner.finish();
    } else if (table.find("tensor") != nullptr) {
      read_address(reader, parameter);
    } else {
      read_scalar_parameter(reader, parameter);
    }
    reader.finish();
    contract_.parameters.push_back(std::move(parameter));
    places_.parameters.push_back(place_in(table, {"type", "tensor"}));
  }

  std::optional<ParameterType> read_type(TableReader& reader, Need need) {
    auto name = reader.string("type", need);
    if (!name) return std::nullopt;
    auto type = parse_parameter_type(*name);
    if (type) return type;
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(ParameterType::f16); ++i)
      names.push_back(name_of(static_cast<ParameterType>(i)));
    std::string near = nearest_name(*name, names);
    complaints_.add(
        reader.value("type", need)->place, reader.field("type") + ": unknown type `" + *name + "`",
        (near.empty() ? "" : "did you mean `" + near + "`? ") + "Known are " + list_names(names));
    return std::nullopt;
  }

  void read_address(TableReader& reader, Parameter& parameter) {
    auto name = reader.string("tensor", Need::required);
    if (const TomlValue* value = reader.value("value", Need::optional))
      complaints_.add(value->place, reader.field("value") + " contradicts `tensor`",
                      "a parameter is a tensor's address or a scalar; remove one of the two");
    if (auto type = read_type(reader, Need::optional)) {
      parameter.type = *type;
      if (bytes_of(*type) != 8 || is_float(*type))
        complaints_.add(reader.value("type", Need::optional)->place,
                        reader.field("type") + " of an address must have 64 bits",
                        "write `u64` or remove the line");
    }
    if (!name) return;
    parameter.tensor = find_tensor(*name);
    if (parameter.tensor) return;
    std::vector<std::string_view> names;
    for (const Tensor& tensor : contract_.tensors) names.push_back(tensor.name);
    std::string near = nearest_name(*name, names);
    complaints_.add(
        reader.value("tensor", Need::required)->place,
        reader.field("tensor") + ": there is no tensor `" + *name + "`",
        near.empty() ? "declare it in a [[tensor]] table" : "did you mean `" + near + "`?");
  }

  void read_scalar_parameter(TableReader& reader, Parameter& parameter) {
    auto type = read_type(reader, Need::required);
    const TomlValue* value = reader.value("value", Need::required);
    reader.value("tensor", Need::optional);
    if (!type) return;
    parameter.type = *type;
    if (value == nullptr) return;
    if (auto bits = read_scalar(*value, *type, reader.field("value"), complaints_))
      parameter.bits = *bits;
  }

  void check_tensors_named() {
    std::vector<unsigned> uses(contract_.tensors.size());
    for (const Parameter& parameter : contract_.parameters)
      if (parameter.tensor) ++uses[*parameter.tensor];
    bool writes = false;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Tensor& tensor = contract_.tensors[i];
      writes |= tensor.role == Role::output || tensor.role == Role::inout;
      if (uses[i] == 0)
        complaints_.add(
            places_.tensors[i], "no parameter names tensor `" + tensor.name + "`",
            "add a [[parameter]] with `tensor = \"" + tensor.name + "\"`, or remove the tensor");
      if (uses[i] > 1 && tensor.role == Role::output)
        complaints_.add(places_.tensors[i],
                        "two parameters name the output `" + tensor.name +
                            "`, so that the kernel's outputs overlap",
                        "declare two tensors, or write `role = \"inout\"` for one that is "
                        "updated in place");
    }
    if (!writes && !contract_.tensors.empty())
      complaints_.add(places_.tensors.front(), "no tensor has the role `output` or `inout`",
                      "give the role `output` to what the kernel writes");
  }

  void read_tolerance() {
    bool needed =
        std::any_of(contract_.tensors.begin(), contract_.tensors.end(), [](const Tensor& tensor) {
          return is_float(tensor.dtype) &&
                 (tensor.role == Role::output || tensor.role == Role::inout);
        });
    const TomlValue* table = root_.table("tolerance", needed ? Need::required : Need::optional);
    if (table == nullptr) return;
    TableReader reader(*table, "tolerance", complaints_);
    Tolerance& tolerance = contract_.tolerance;
    tolerance.absolute = reader.number("absolute", Need::required, 0).value_or(0);
    tolerance.relative = reader.number("relative", Need::required, 0).value_or(0);
    tolerance.error_factor = reader.number("error_factor", Need::optional, 0).value_or(2);
    check_tolerance(*table, reader);
    reader.finish();
  }

  /// A tolerance under which a wrong kernel passes is none. Zeros are strict, and allowed.
  void check_tolerance(const TomlValue& table, const TableReader& reader) {
    const Tolerance& tolerance = contract_.tolerance;
    auto refuse = [&](std::string_view key, const std::string& why, const std::string& remedy) {
      complaints_.add(place_in(table, {key}), reader.field(key) + " " + why, remedy);
    };
    if (tolerance.relative >= 1)
      refuse("relative", "of 1 or more lets zeros pass for anything",
             "write the relative error that a right kernel may have, such as 2e-3");
    if (tolerance.error_factor > error_factor_max)
      refuse("error_factor", "lets anything pass where the reference rounds at all",
             "2 is usual: twice the reference's own error; at most 1000 is read");
    double greatest = 0;
    for (const Tensor& tensor : contract_.tensors)
      if (is_float(tensor.dtype) && tensor.role != Role::input && tensor.role != Role::scratch)
        greatest = std::max(greatest, greatest_of(tensor.dtype));
    if (greatest != 0 && tolerance.absolute >= greatest)
      refuse("absolute", "is as large as the greatest value of the output's type",
             "write the absolute error that a right kernel may have");
  }

  template <class Names>
  std::string precision_name(TableReader& reader, std::string_view key, const Names& names) {
    auto name = reader.string(key, Need::optional);
    if (!name || std::find(names.begin(), names.end(), *name) != names.end())
      return name.value_or("");
    complaints_.add(reader.value(key, Need::optional)->place,
                    reader.field(key) + ": unknown precision `" + *name + "`",
                    "write " + list_names(names));
    return "";
  }

  void read_precision() {
    const TomlValue* table = root_.table("precision", Need::optional);
    if (table == nullptr) return;
    TableReader reader(*table, "precision", complaints_);
    contract_.precision.operand = precision_name(reader, "operand", operand_types);
    contract_.precision.accumulate = precision_name(reader, "accumulate", accumulate_types);
    contract_.precision.tensor_cores = reader.boolean("tensor_cores", Need::optional);
    reader.finish();
  }

  void read_constants() {
    const TomlValue* table = root_.table("constants", Need::optional);
    if (table == nullptr) return;
    for (const TomlMember& member : table->members)
      contract_.constants.push_back({member.key, print_toml(member.value)});
  }

  void read_case(const TomlValue& table) {
    TableReader reader(table, title(table, "case", contract_.cases.size()), complaints_);
    Case made{reader.string("name", Need::required).value_or(""), contract_.launch,
              contract_.parameters, contract_.tensors};
    for (const Case& other : contract_.cases)
      if (other.name == made.name)
        complaints_.add(table.place, "two cases are called `" + made.name + "`",
                        "rename one of them");
    if (const TomlValue* launch = reader.table("launch", Need::optional))
      read_case_launch(*launch, reader, made);
    if (const TomlValue* scalars = reader.table("scalar", Need::optional))
      for (const TomlMember& member : scalars->members) read_case_scalar(member, made);
    if (const TomlValue* tensors = reader.table("tensor", Need::optional))
      for (const TomlMember& member : tensors->members) read_case_tensor(member, made);
    reader.finish();
    contract_.cases.push_back(std::move(made));
  }

  void read_case_launch(const TomlValue& table, TableReader& reader, Case& made) {
    for (const TomlMember& member : table.members)
      if (member.key != "grid") {
        complaints_.add(member.place,
                        reader.field("launch") + " may set the grid only, not `" + member.key + "`",
                        "one candidate serves all cases with one block and shared size");
        return;
      }
    TableReader launch(table, "case.launch", complaints_);
    LaunchPlaces places;
    made.launch = read_launch(launch, contract_.target, contract_.launch, places, false);
  }

  void read_case_scalar(const TomlMember& member, Case& made) {
    std::vector<std::string_view> names;
    for (Parameter& parameter : made.parameters) {
      if (parameter.tensor) continue;
      names.push_back(parameter.name);
      if (parameter.name != member.key) continue;
      if (auto bits =
              read_scalar(member.value, parameter.type, "`scalar." + member.key + "`", complaints_))
        parameter.bits = *bits;
      return;
    }
    std::string near = nearest_name(member.key, names);
    complaints_.add(
        member.place, "there is no scalar parameter `" + member.key + "`",
        near.empty() ? "name one of the [[parameter]] tables" : "did you mean `" + near + "`?");
  }

  void read_case_tensor(const TomlMember& member, Case& made) {
    auto index = find_tensor(member.key);
    if (!index) {
      complaints_.add(member.place, "there is no tensor `" + member.key + "`",
                      "name one of the [[tensor]] tables");
    } else if (member.value.kind != TomlValue::Kind::table) {
      complaints_.add(member.value.place, "`tensor." + member.key + "` must be a table",
                      "write `tensor." + member.key + ".shape = [..]`");
    } else {
      Tensor base = made.tensors[*index];
      made.tensors[*index] = read_tensor(member.value, "tensor." + member.key, &base, complaints_);
    }
  }

  TableReader root_;
  Contract& contract_;
  ContractPlaces& places_;
  Complaints& complaints_;
};

}  // namespace

ParsedContract parse_whole_contract(std::string_view toml, const std::string& file) {
  ParsedContract parsed;
  auto root = parse_toml(toml, file);
  if (!root) {
    parsed.errors.push_back(root.error());
    return parsed;
  }
  Complaints complaints;
  ContractReader(*root, parsed, complaints).read();
  parsed.errors = complaints.take(complaints_max);
  return parsed;
}

Result<Contract> parse_contract(std::string_view toml, const std::string& file) {
  ParsedContract parsed = parse_whole_contract(toml, file);
  if (!parsed.errors.empty()) return parsed.errors.front();
  return std::move(parsed.contract);
}

}  // namespace lathe
