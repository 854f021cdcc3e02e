#include "replay/junit.h"

#include <fmt/format.h>

#include <string_view>

namespace replay {
namespace {

// For text and for attributes.
std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        // Names of a user's files may be no UTF-8.
        out += c >= 0x20 && c < 0x7F ? c : '?';
    }
  }
  return out;
}

std::string FormatCase(const std::string& suite, const Incident& incident) {
  const char* element = incident.harness() ? "error" : "failure";
  std::string text = fmt::format(
      "  <testcase classname=\"{}\" name=\"seed {}\">\n", suite, incident.seed);
  text += fmt::format("    <{} type=\"{}\" message=\"{}\">", element,
                      incident.harness() ? "harness" : incident.promise,
                      Escaped(incident.message));
  if (!incident.harness()) {
    text += Escaped(
        fmt::format("{} broken for {}\n", incident.promise, incident.subject));
  }
  text += Escaped(fmt::format("recipe: {}", incident.recipe));
  return text + fmt::format("</{}>\n  </testcase>\n", element);
}

}  // namespace

std::string FormatJunit(const Summary& summary,
                        const std::vector<Incident>& incidents) {
  std::string suite = Escaped("musth." + summary.profile);
  uint64_t bad = summary.findings + summary.harness_failures;
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "time=\"{:.3f}\">\n",
      suite, incidents.size() + 1, summary.findings, summary.harness_failures,
      summary.wall_s);
  text += fmt::format(
      "  <testcase classname=\"{}\" name=\"{} seeds without a "
      "broken promise\" time=\"{:.3f}\"/>\n",
      suite, summary.seeds - bad, summary.wall_s);
  for (const Incident& incident : incidents)
    text += FormatCase(suite, incident);
  if (incidents.size() < bad) {
    text += fmt::format("  <!-- {} more are not listed -->\n",
                        bad - incidents.size());
  }
  return text + "</testsuite>\n";
}

}  // namespace replay
