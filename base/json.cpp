// The one place where the templates of the JSON library become code.

#include "base/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template class nlohmann::detail::lexer<nlohmann::ordered_json,
                                       nlohmann::detail::iterator_input_adapter<const char*>>;
