// A [[tensor]] table: shape and strides that make sense, and values that the type holds.

#include <algorithm>
#include <numeric>

#include "base/names.h"
#include "contract/read_parts.h"
#include "contract/values.h"

namespace lathe {
namespace {

constexpr std::uint64_t span_bytes_max = std::uint64_t{1} << 38;
constexpr std::int64_t extent_max = std::int64_t{1} << 38, align_max = std::int64_t{1} << 20;
constexpr std::size_t rank_max = 8;
constexpr std::uint64_t listed_elements_max = std::uint64_t{1} << 22;

constexpr std::array<std::string_view, 4> roles{"input", "output", "inout", "scratch"};
constexpr std::array<std::string_view, 23> dtypes{
    "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e2m1", "e2m3", "e3m2", "ue8m0", "s64", "s32",
    "s16", "s8",  "s4",  "u64",  "u32",  "u16",  "u8",   "u4",   "b8",   "b16",   "b32"};

std::vector<std::uint64_t> row_major(const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<std::uint64_t> unsigned_of(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// Whether the span stays below what a device has. Doubles, since whole numbers might wrap.
bool span_fits(const Tensor& tensor) {
  double last = 0, count = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    last += static_cast<double>(tensor.shape[i] - 1) * static_cast<double>(tensor.strides[i]);
    count *= static_cast<double>(tensor.shape[i]);
  }
  double most = static_cast<double>(span_bytes_max) * 8;
  return count <= most && (last + 1) * bits_of(tensor.dtype) <= most;
}

/// Dimensions of which each steps over all of the smaller ones never meet. Other layouts are
/// decided by listing every element, where there are few enough.
bool elements_overlap(const Tensor& tensor) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] > 1) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  std::uint64_t reach = 0;
  bool nested = true;
  for (std::size_t i : order) {
    if (tensor.strides[i] == 0) return true;
    nested &= tensor.strides[i] > reach;
    reach += (tensor.shape[i] - 1) * tensor.strides[i];
  }
  if (nested) return false;
  if (tensor.element_count() > listed_elements_max) return true;
  std::vector<std::uint64_t> places{0};
  for (std::size_t i : order) {
    std::vector<std::uint64_t> next;
    for (std::uint64_t k = 0; k < tensor.shape[i]; ++k)
      for (std::uint64_t place : places) next.push_back(place + k * tensor.strides[i]);
    places = std::move(next);
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

class TensorReader {
 public:
  TensorReader(const TomlValue& table, const std::string& what, const Tensor* base,
               Complaints& complaints)
      : reader_(table, what, complaints), base_(base), complaints_(complaints) {
    if (base != nullptr) tensor_ = *base;
  }

  Tensor read() {
    if (base_ == nullptr) read_kind();
    read_shape();
    if (shape_known_) {
      read_values_field();
      read_defined();
    } else {
      reader_.value("values", Need::optional);
      reader_.value("defined", Need::optional);
    }
    reader_.finish();
    return std::move(tensor_);
  }

 private:
  void read_kind() {
    tensor_.name = reader_.string("name", Need::required).value_or("");
    if (auto name = reader_.string("dtype", Need::required)) {
      if (auto dtype = parse_dtype(*name)) {
        tensor_.dtype = *dtype;
        dtype_known_ = true;
      } else {
        unknown("dtype", *name, dtypes);
      }
    }
    if (auto name = reader_.string("role", Need::required)) {
      auto found = std::find(roles.begin(), roles.end(), *name);
      if (found == roles.end())
        unknown("role", *name, roles);
      else
        tensor_.role = static_cast<Role>(found - roles.begin());
    }
    if (auto align = reader_.integer("align", Need::optional, 1, align_max)) {
      tensor_.align = static_cast<std::uint64_t>(*align);
      const Place& place = reader_.value("align", Need::optional)->place;
      std::uint64_t bytes = std::max(1u, bits_of(tensor_.dtype) / 8);
      if ((*align & (*align - 1)) != 0)
        complaints_.add(
            place,
            reader_.field("align") + " is " + std::to_string(*align) + ", which is no power of two",
            "write 1, 2, 4, 8, 16, ..");
      else if (dtype_known_ && tensor_.align < bytes)
        complaints_.add(place,
                        reader_.field("align") + " is smaller than an element of " +
                            std::string(name_of(tensor_.dtype)),
                        "write at least " + std::to_string(bytes));
    }
  }

  template <class Names>
  void unknown(std::string_view key, const std::string& name, const Names& names) {
    std::string near = nearest_name(name, names);
    complaints_.add(
        reader_.value(key, Need::optional)->place,
        reader_.field(key) + ": unknown " + std::string(key) + " `" + name + "`",
        (near.empty() ? "" : "did you mean `" + near + "`? ") + "Known are " + list_names(names));
  }

  void read_shape() {
    Need need = base_ == nullptr ? Need::required : Need::optional;
    auto shape = reader_.integers("shape", need, 0, 1, extent_max);
    auto strides = reader_.integers("strides", Need::optional, 0, 0, extent_max);
    bool has_strides = reader_.self().find("strides") != nullptr;
    if (shape) {
      tensor_.shape = unsigned_of(*shape);
      tensor_.strides = row_major(tensor_.shape);
    }
    if (strides) tensor_.strides = unsigned_of(*strides);
    shape_known_ = (shape || (base_ != nullptr && reader_.self().find("shape") == nullptr)) &&
                   (strides || !has_strides) && (dtype_known_ || base_ != nullptr);
    if (shape_known_) shape_known_ = check_shape();
  }

  bool check_shape() {
    const TomlMember* written = reader_.self().find("strides");
    if (written == nullptr) written = reader_.self().find("shape");
    const Place& place = written == nullptr ? reader_.self().place : written->value.place;
    if (tensor_.shape.empty() || tensor_.shape.size() > rank_max)
      return refuse(place, reader_.field("shape") + " must have one to eight dimensions",
                    "write a scalar as a tensor of shape [1]");
    if (tensor_.strides.size() != tensor_.shape.size())
      return refuse(place,
                    reader_.field("strides") + " has " + std::to_string(tensor_.strides.size()) +
                        " numbers, but `shape` has " + std::to_string(tensor_.shape.size()),
                    "write one stride a dimension, in elements");
    if (!span_fits(tensor_))
      return refuse(place, reader_.field("shape") + " takes more than 256 GiB",
                    "make the tensor smaller");
    if (elements_overlap(tensor_))
      return refuse(place, reader_.field("strides") + " puts two elements in one place",
                    "for a tensor that is read again and again, declare the smaller one that lies "
                    "in memory");
    return true;
  }

  bool refuse(const Place& place, std::string what, std::string remedy) {
    complaints_.add(place, std::move(what), std::move(remedy));
    return false;
  }

  void read_values_field() {
    const TomlValue* value = reader_.value("values", Need::optional);
    bool is_read = tensor_.role == Role::input || tensor_.role == Role::inout;
    if (value == nullptr) {
      if (base_ != nullptr) return;
      if (is_read && !is_float(tensor_.dtype))
        complaints_.add(
            reader_.self().place,
            reader_.field("values") +
                " is missing: nothing says which integers may "
                "come in",
            "add `values = {integers = [lo, hi]}`, `{indices_below = n}` or `\"bits\"`");
      if (!is_read || !is_float(tensor_.dtype)) tensor_.values.kind = Values::Zero{};
      return;
    }
    if (tensor_.role == Role::output) {
      complaints_.add(value->place, reader_.field("values") + " of an output",
                      "remove it, or write `role = \"inout\"` if the kernel reads the tensor");
      return;
    }
    if (auto values = read_values(*value, tensor_, reader_.field("values"), complaints_))
      tensor_.values = std::move(*values);
  }

  void read_defined() {
    const TomlValue* value = reader_.value("defined", Need::optional);
    if (value == nullptr) {
      if (base_ != nullptr && tensor_.shape != base_->shape) tensor_.defined.clear();
      return;
    }
    bool is_written = tensor_.role == Role::output || tensor_.role == Role::inout;
    if (!is_written) {
      complaints_.add(value->place, reader_.field("defined") + " of a tensor that is no output",
                      "remove it");
      return;
    }
    tensor_.defined.clear();
    if (value->kind != TomlValue::Kind::array) {
      bad_box(value->place);
      return;
    }
    for (const TomlValue& box : value->items)
      if (!read_box(box)) return;
  }

  bool bad_box(const Place& place) {
    return refuse(place,
                  reader_.field("defined") + " must be boxes of one half-open range a dimension",
                  "write `[[[lo, hi], [lo, hi]], ..]` with " +
                      std::to_string(tensor_.shape.size()) + " ranges a box");
  }

  bool read_box(const TomlValue& value) {
    if (value.kind != TomlValue::Kind::array || value.items.size() != tensor_.shape.size())
      return bad_box(value.place);
    Box box;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const TomlValue& range = value.items[i];
      bool is_range = range.kind == TomlValue::Kind::array && range.items.size() == 2 &&
                      range.items[0].kind == TomlValue::Kind::integer &&
                      range.items[1].kind == TomlValue::Kind::integer;
      if (!is_range) return bad_box(range.place);
      std::int64_t low = range.items[0].integer, high = range.items[1].integer;
      if (low < 0 || low >= high || static_cast<std::uint64_t>(high) > tensor_.shape[i])
        return refuse(range.place,
                      reader_.field("defined") + ": " + print_toml(range) +
                          " is no range within 0 to " + std::to_string(tensor_.shape[i]),
                      "write 0 <= lo < hi <= the extent");
      box.push_back({static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)});
    }
    tensor_.defined.push_back(std::move(box));
    return true;
  }

  TableReader reader_;
  const Tensor* base_;
  Complaints& complaints_;
  Tensor tensor_;
  bool dtype_known_ = false, shape_known_ = false;
};

}  // namespace

Tensor read_tensor(const TomlValue& table, const std::string& what, const Tensor* base,
                   Complaints& complaints) {
  return TensorReader(table, what, base, complaints).read();
}

}  // namespace lathe
