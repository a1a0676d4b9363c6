#pragma once

// The life of a candidate as bytes: what crosses a process is one msgpack map. A contract travels
// as its canonical text and its reference; a module as its text, parsed again on arrival.

#include <string>
#include <string_view>

#include "pipeline/gates.h"

namespace lathe {

std::string encode(const Screened&);
std::string encode(const Assembled&);
std::string encode(const Sanitized&);
std::string encode(const Tested&);
std::string encode(const Proof&);
std::string encode(const Timing&);
std::string encode(const Verdict&);

Result<Screened> decode_screened(std::string_view);
Result<Assembled> decode_assembled(std::string_view);
Result<Sanitized> decode_sanitized(std::string_view);
Result<Tested> decode_tested(std::string_view);
Result<Proof> decode_proof(std::string_view);
Result<Timing> decode_timing(std::string_view);
Result<Verdict> decode_verdict(std::string_view);

}  // namespace lathe
