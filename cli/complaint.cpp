#include "cli/complaint.h"

#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "cli/document.h"
#include "cli/exit_status.h"

namespace lathe::cli {
namespace {

constexpr std::size_t complaints_max = 20;
constexpr std::size_t shown_columns_max = 160;

/// The text of a line, or nothing where it cannot be shown.
std::string line_of(const Place& place) {
  if (place.file.empty() || place.line == 0) return {};
  Result<std::string> text = read_text(place.file);
  if (!text) return {};
  std::string_view rest = *text;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return std::string(rest.substr(0, rest.find('\n')));
}

std::string place_of(const Place& place) {
  if (place.file.empty()) return "lathe: ";
  std::string text = place.file + ":";
  if (place.line != 0) text += std::to_string(place.line) + ":";
  if (place.line != 0 && place.column != 0) text += std::to_string(place.column) + ":";
  return text + " ";
}

/// What a name holds that a terminal would obey, or a text end at, is shown by its number.
std::string printable(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t')
      out += c;
    else
      out += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
  }
  return out;
}

std::string caret_under(const std::string& line, std::uint32_t column) {
  std::string blank;
  for (std::size_t i = 0; i + 1 < column && i < line.size(); ++i)
    blank.push_back(line[i] == '\t' ? '\t' : ' ');
  return blank + "^";
}

Json json_of(const Error& error) {
  Json json;
  if (!error.place.file.empty()) json["file"] = error.place.file;
  if (error.place.line != 0) json["line"] = error.place.line;
  if (error.place.column != 0) json["column"] = error.place.column;
  json["what"] = error.what;
  if (!error.remedy.empty()) json["help"] = error.remedy;
  return json;
}

int say(int status, const std::vector<Error>& errors, Form form) {
  Json document;
  document["schema"] = "lathe/error/1";
  document["exit_status"] = status;
  document["errors"] = Json::array();
  for (std::size_t i = 0; i < errors.size() && i < complaints_max; ++i) {
    std::fputs(complaint(errors[i]).c_str(), stderr);
    document["errors"].push_back(json_of(errors[i]));
  }
  if (errors.size() > complaints_max) {
    std::fprintf(stderr, "and %zu more\n", errors.size() - complaints_max);
    document["further"] = errors.size() - complaints_max;
  }
  if (form == Form::json) print_document(document);
  return status;
}

}  // namespace

std::string complaint(const Error& error) {
  std::string text = place_of(error.place) + "error: " + printable(error.what) + "\n";
  std::string line = line_of(error.place);
  if (!line.empty() && line.size() <= shown_columns_max) {
    text += "  " + line + "\n";
    if (error.place.column != 0) text += "  " + caret_under(line, error.place.column) + "\n";
  }
  if (!error.remedy.empty()) text += "help: " + printable(error.remedy) + "\n";
  return text;
}

int complain(const Error& error, Form form) {
  return complain_with(exit_status(error), error, form);
}

int complain(const std::vector<Error>& errors, Form form) {
  if (errors.empty()) return exit_done;
  return say(exit_status(errors.front()), errors, form);
}

int complain_with(int status, const Error& error, Form form) { return say(status, {error}, form); }

int complain_with(int status, const std::vector<Error>& errors, Form form) {
  return say(status, errors, form);
}

}  // namespace lathe::cli
