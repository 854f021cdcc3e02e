#include "properties/property_main.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

namespace properties {
namespace {

constexpr std::string_view kReplay = "--replay=";
constexpr std::string_view kRapidcheck = "reproduce=";

// Every recipe in rapidcheck's words, with the command that takes it.
void PrintCommands(std::string_view said) {
  const char* target = std::getenv("TEST_TARGET");
  std::string command = target == nullptr
                            ? std::string("this test ")
                            : fmt::format("bazel test {} --test_arg=", target);
  for (;;) {
    size_t at = said.find(kRapidcheck);
    if (at == std::string_view::npos) return;
    said.remove_prefix(at + kRapidcheck.size());
    size_t end = said.find_first_of("\" \n");
    std::cerr << command << kReplay << said.substr(0, end) << "\n";
    if (end == std::string_view::npos) return;
    said.remove_prefix(end);
  }
}

// Hears what rapidcheck says on std::cerr. It names its recipes when its own
// statics are destroyed, after main: this object is older, and so goes later.
class Capture {
 public:
  Capture() : old_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~Capture() {
    std::cerr.rdbuf(old_);
    std::cerr << text_.str();
    PrintCommands(text_.str());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  std::ostringstream text_;
  std::streambuf* old_;
};

// base64 with rapidcheck's two signs.
bool IsRecipe(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
             "uvwxyz0123456789+/-_=") == std::string_view::npos;
}

}  // namespace

int PropertyMain(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg.rfind(kReplay, 0) != 0) continue;
    arg.remove_prefix(kReplay.size());
    if (!IsRecipe(arg)) {
      std::cerr << "--replay=" << arg << ": expected a recipe as a failing "
                << "suite prints it\n";
      return 2;
    }
    std::string params = std::string(kRapidcheck) + std::string(arg);
    setenv("RC_PARAMS", params.c_str(), 1);
  }
  static Capture capture;
  return RUN_ALL_TESTS();
}

}  // namespace properties

int main(int argc, char** argv) { return properties::PropertyMain(argc, argv); }
