#include "replay/json_reader.h"

#include <gtest/gtest.h>

namespace replay {
namespace {

TEST(JsonReader, ReadsWhatIsThere) {
  JsonDocument document(
      R"({"n": 7, "x": 0.5, "t": "word", "c": {"a": 1, "b": 2},
          "l": [{"n": 3}, {"n": 4}], "k": [5, 6]})",
      "a.json", "a sample");
  JsonReader in = document.root();
  EXPECT_EQ(in.Count("n"), 7u);
  EXPECT_EQ(in.Number("x"), 0.5);
  EXPECT_EQ(in.Text("t"), "word");
  EXPECT_EQ(in.Counts("c"),
            (std::map<std::string, uint64_t>{{"a", 1}, {"b", 2}}));
  uint64_t sum = 0;
  for (JsonReader each : in.Array("l")) sum += each.Count("n");
  EXPECT_EQ(sum, 7u);
  EXPECT_EQ(in.CountArray("k"), (std::vector<uint64_t>{5, 6}));
  EXPECT_TRUE(document.status().ok());
}

// What the first wrong thing is called.
std::string Refusal(std::string_view text, void (*read)(JsonReader)) {
  JsonDocument document(text, "a.json", "a sample");
  read(document.root());
  EXPECT_FALSE(document.status().ok());
  return std::string(document.status().message());
}

TEST(JsonReader, NamesTheFirstThingThatIsNotAsExpected) {
  EXPECT_EQ(Refusal("[1", [](JsonReader in) { in.Count("n"); }),
            "a.json: expected a sample");
  EXPECT_EQ(Refusal("[]", [](JsonReader in) { in.Object("o").Count("n"); }),
            "a.json: expected a sample");
  EXPECT_EQ(Refusal(R"({"n": -1})",
                    [](JsonReader in) {
                      in.Count("n");
                      in.Count("m");
                    }),
            "a.json: n: expected a count of a sample");
  EXPECT_EQ(Refusal(R"({"o": {"n": 1.5}})",
                    [](JsonReader in) { in.Object("o").Count("n"); }),
            "a.json: o.n: expected a count of a sample");
  EXPECT_EQ(
      Refusal(R"({"o": 3})", [](JsonReader in) { in.Object("o").Count("n"); }),
      "a.json: o: expected an object of a sample");
  EXPECT_EQ(Refusal(R"({"l": [{}, 3]})",
                    [](JsonReader in) {
                      for (JsonReader each : in.Array("l")) each.Keys();
                    }),
            "a.json: l[1]: expected an object of a sample");
  EXPECT_EQ(
      Refusal(R"({"k": [1, "x"]})", [](JsonReader in) { in.CountArray("k"); }),
      "a.json: k: expected an array of counts of a sample");
}

}  // namespace
}  // namespace replay
