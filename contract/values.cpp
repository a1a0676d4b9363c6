#include "contract/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/names.h"

namespace lathe {
namespace {

constexpr std::array<std::string_view, 4> words{"normal", "zero", "permutation", "bits"};
constexpr std::array<std::string_view, 6> tables{"uniform",       "integers", "list",
                                                 "indices_below", "mask",     "file"};

class ValuesReader {
 public:
  ValuesReader(const TomlValue& value, const Tensor& tensor, const std::string& field,
               Complaints& complaints)
      : value_(value), tensor_(tensor), field_(field), complaints_(complaints) {}

  std::optional<Values> read() {
    if (value_.kind == TomlValue::Kind::string) return word();
    if (value_.kind == TomlValue::Kind::table && !value_.members.empty()) return table();
    return refuse(value_.place, field_ + " must be one of the named distributions",
                  "write " + accepted());
  }

 private:
  static std::string accepted() {
    return list_names(words) + ", or a table with " + list_names(tables);
  }

  std::nullopt_t refuse(const Place& place, std::string what, std::string remedy) {
    complaints_.add(place, std::move(what), std::move(remedy));
    return std::nullopt;
  }

  std::optional<Values> contradiction(const std::string& what, const std::string& remedy) {
    return refuse(
        value_.place,
        field_ + ": " + what + ", but the tensor is " + std::string(name_of(tensor_.dtype)),
        remedy);
  }

  std::optional<Values> word() {
    const std::string& name = value_.text;
    if (name == "zero") {
      if (tensor_.dtype == Dtype::ue8m0)
        return contradiction("`zero` is no value of the type", "write `{list = [1.0]}`");
      return Values{Values::Zero{}};
    }
    if (name == "bits") return Values{Values::AnyBits{}};
    if (name == "normal") {
      if (is_float(tensor_.dtype)) return Values{Values::Normal{}};
      return contradiction("`normal` is for floats", "write `{integers = [lo, hi]}` or `\"bits\"`");
    }
    if (name == "permutation") return permutation();
    std::string near = nearest_name(name, words);
    return refuse(value_.place, field_ + ": unknown distribution `" + name + "`",
                  near.empty() ? "write " + accepted() : "did you mean `" + near + "`?");
  }

  std::optional<Values> permutation() {
    if (is_float(tensor_.dtype))
      return contradiction("`permutation` is for integers", "write `{list = [..]}`");
    std::uint64_t count = tensor_.element_count();
    if (count - 1 > static_cast<std::uint64_t>(integer_range(tensor_.dtype).high))
      return contradiction("a permutation of " + std::to_string(count) + " indices does not fit",
                           "use a wider type");
    return Values{Values::Permutation{}};
  }

  std::optional<Values> table() {
    const TomlMember& first = value_.members.front();
    auto is_known = [&](const std::string& key) {
      return std::find(tables.begin(), tables.end(), key) != tables.end();
    };
    for (const TomlMember& member : value_.members) {
      if (&member == &first ? is_known(member.key) : member.key == "or" && first.key == "integers")
        continue;
      std::string near = nearest_name(member.key, tables);
      return refuse(member.place, "unknown key `" + member.key + "` in " + field_,
                    near.empty() ? "write " + accepted() : "did you mean `" + near + "`?");
    }
    TableReader reader(value_, field_.substr(1, field_.size() - 2), complaints_);
    if (first.key == "uniform") return uniform(first.value);
    if (first.key == "integers") return integers(reader);
    if (first.key == "list") return list(first.value);
    if (first.key == "indices_below") return indices_below(reader);
    if (first.key == "mask") return mask(reader);
    return file(reader);
  }

  std::optional<double> number(const TomlValue& value) {
    bool is_integer = value.kind == TomlValue::Kind::integer;
    if (!is_integer && value.kind != TomlValue::Kind::real)
      return refuse(value.place, field_ + " holds " + std::string(name_of(value.kind)),
                    "write numbers");
    double number = is_integer ? static_cast<double>(value.integer) : value.real;
    IntegerRange range = integer_range(tensor_.dtype);
    bool fits = is_float(tensor_.dtype)
                    ? std::isfinite(number) && std::fabs(number) <= greatest_of(tensor_.dtype)
                    : is_integer && value.integer >= range.low && value.integer <= range.high;
    if (fits && tensor_.dtype == Dtype::ue8m0) fits = number > 0;
    if (fits) return number;
    return refuse(value.place,
                  field_ + ": " + print_toml(value) + " is no value of " +
                      std::string(name_of(tensor_.dtype)),
                  "write a value that the type holds");
  }

  std::optional<Values> uniform(const TomlValue& bounds) {
    if (!is_float(tensor_.dtype))
      return contradiction("`uniform` is for floats", "write `{integers = [lo, hi]}`");
    if (bounds.kind != TomlValue::Kind::array || bounds.items.size() != 2)
      return refuse(bounds.place, field_ + ": `uniform` takes two numbers",
                    "write `{uniform = [lo, hi]}`");
    auto low = number(bounds.items[0]), high = number(bounds.items[1]);
    if (!low || !high) return std::nullopt;
    if (*low > *high)
      return refuse(bounds.place, field_ + ": the lower bound is above the upper one",
                    "write the smaller number first");
    return Values{Values::Uniform{*low, *high}};
  }

  std::optional<Values> integers(TableReader& reader) {
    IntegerRange range = integer_range(tensor_.dtype);
    auto bounds = reader.integers("integers", Need::required, 2, range.low, range.high);
    auto extra = reader.integers("or", Need::optional, 0, range.low, range.high);
    if (!bounds || (reader.self().find("or") != nullptr && !extra)) return std::nullopt;
    if ((*bounds)[0] > (*bounds)[1])
      return refuse(value_.place, field_ + ": the lower bound is above the upper one",
                    "write the smaller number first");
    return Values{
        Values::Integers{(*bounds)[0], (*bounds)[1], extra ? *extra : std::vector<std::int64_t>{}}};
  }

  std::optional<Values> list(const TomlValue& items) {
    if (items.kind != TomlValue::Kind::array || items.items.empty())
      return refuse(items.place, field_ + ": `list` takes at least one number",
                    "write `{list = [1, 2, 3]}`");
    Values::List list;
    for (const TomlValue& item : items.items) {
      auto value = number(item);
      if (!value) return std::nullopt;
      list.values.push_back(*value);
    }
    return Values{std::move(list)};
  }

  std::optional<Values> indices_below(TableReader& reader) {
    if (is_float(tensor_.dtype))
      return contradiction("indices are integers", "give the tensor an integer type");
    std::int64_t high = integer_range(tensor_.dtype).high;
    auto bound = reader.integer("indices_below", Need::required, 1,
                                high == std::numeric_limits<std::int64_t>::max() ? high : high + 1);
    if (!bound) return std::nullopt;
    return Values{Values::IndicesBelow{static_cast<std::uint64_t>(*bound)}};
  }

  std::optional<Values> mask(TableReader& reader) {
    if (tensor_.dtype == Dtype::ue8m0)
      return contradiction("a mask is made of zeros and ones", "give it an integer type");
    auto density = reader.number("mask", Need::required, 0, 1);
    if (!density) return std::nullopt;
    return Values{Values::Mask{*density}};
  }

  std::optional<Values> file(TableReader& reader) {
    auto path = reader.string("file", Need::required);
    if (!path) return std::nullopt;
    bool inside = !path->empty() && !std::filesystem::path(*path).is_absolute();
    for (const auto& part : std::filesystem::path(*path)) inside &= part != "..";
    if (!inside)
      return refuse(reader.value("file", Need::required)->place,
                    field_ + ": `" + *path + "` is not inside the contract's directory",
                    "put the file beside contract.toml and name it relatively");
    return Values{Values::File{*path, nullptr}};
  }

  const TomlValue& value_;
  const Tensor& tensor_;
  std::string field_;
  Complaints& complaints_;
};

template <class Numbers, class Print>
std::string print_list(const Numbers& numbers, Print print) {
  std::string text = "[";
  for (const auto& number : numbers) {
    if (text.size() > 1) text += ", ";
    text += print(number);
  }
  return text + "]";
}

struct Printer {
  using V = Values;
  static std::string decimal(std::int64_t value) { return std::to_string(value); }
  std::string operator()(const V::Normal&) const { return "\"normal\""; }
  std::string operator()(const V::Zero&) const { return "\"zero\""; }
  std::string operator()(const V::Permutation&) const { return "\"permutation\""; }
  std::string operator()(const V::AnyBits&) const { return "\"bits\""; }
  std::string operator()(const V::Uniform& u) const {
    return "{uniform = [" + print_real(u.low) + ", " + print_real(u.high) + "]}";
  }
  std::string operator()(const V::Integers& i) const {
    std::string text =
        "{integers = [" + std::to_string(i.low) + ", " + std::to_string(i.high) + "]";
    return text + (i.extra.empty() ? "}" : ", or = " + print_list(i.extra, decimal) + "}");
  }
  std::string operator()(const V::List& l) const {
    auto number = [](double value) {
      bool whole = std::fabs(value) < 9.0e15 && value == std::floor(value) && !std::signbit(value);
      bool negative = value < 0 && value > -9.0e15 && value == std::floor(value);
      return whole || negative ? std::to_string(static_cast<std::int64_t>(value))
                               : print_real(value);
    };
    return "{list = " + print_list(l.values, number) + "}";
  }
  std::string operator()(const V::IndicesBelow& i) const {
    return "{indices_below = " + std::to_string(i.bound) + "}";
  }
  std::string operator()(const V::Mask& m) const {
    return "{mask = " + print_real(m.density) + "}";
  }
  std::string operator()(const V::File& f) const { return "{file = " + quote_toml(f.path) + "}"; }
};

}  // namespace

IntegerRange integer_range(Dtype dtype) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (is_float(dtype)) {
    double greatest = greatest_of(dtype);
    std::int64_t high = greatest >= 9.2e18 ? most : static_cast<std::int64_t>(greatest);
    return {dtype == Dtype::ue8m0 ? 1 : -high, high};
  }
  unsigned bits = bits_of(dtype);
  bool is_signed = dtype == Dtype::s64 || dtype == Dtype::s32 || dtype == Dtype::s16 ||
                   dtype == Dtype::s8 || dtype == Dtype::s4;
  if (is_signed) {
    std::int64_t high = bits == 64 ? most : (std::int64_t{1} << (bits - 1)) - 1;
    return {-high - 1, high};
  }
  return {0, bits == 64 ? most : (std::int64_t{1} << bits) - 1};
}

double greatest_of(Dtype dtype) {
  if (const FloatFormat* format = format_of(dtype)) return format->greatest();
  if (dtype == Dtype::f64) return std::numeric_limits<double>::max();
  return static_cast<double>(integer_range(dtype).high);
}

std::optional<Values> read_values(const TomlValue& value, const Tensor& tensor,
                                  const std::string& field, Complaints& complaints) {
  return ValuesReader(value, tensor, field, complaints).read();
}

std::string print_values(const Values& values) { return std::visit(Printer{}, values.kind); }

}  // namespace lathe
