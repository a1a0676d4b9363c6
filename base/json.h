#pragma once

// JSON as the whole project uses it. Include it in .cpp files only: it is a heavy header. Its
// templates are made once, in base/json.cpp.

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
extern template class nlohmann::detail::lexer<
    nlohmann::ordered_json, nlohmann::detail::iterator_input_adapter<const char*>>;

namespace lathe {

/// Keeps the order in which members were written, so that equal knowledge prints equal bytes.
using Json = nlohmann::ordered_json;

}  // namespace lathe
