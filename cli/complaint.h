#pragma once

// How an error is said: FILE:LINE:COLUMN: error: what, the line with a caret, help: what to do.

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::cli {

/// The text of one complaint, with the line that it is about where the file can be read again.
std::string complaint(const Error& error);

/// Where a subcommand was asked for one JSON document, a complaint is one too: schema lathe/error/1
/// on standard output, beside the text on standard error.
enum class Form { text, json };
inline Form form_of(bool json) { return json ? Form::json : Form::text; }

/// Says it on standard error and gives the exit status.
int complain(const Error& error, Form form = Form::text);

/// At most 20, then a count. The first one's exit status.
int complain(const std::vector<Error>& errors, Form form = Form::text);

/// The same, ending with this status.
int complain_with(int status, const Error& error, Form form = Form::text);
int complain_with(int status, const std::vector<Error>& errors, Form form = Form::text);

}  // namespace lathe::cli
