#include "faults/planted_bugs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/common/sites.h"
#include "faults/unplanted_bugs.h"

namespace faults {
namespace {

std::set<std::string> EngineNames() {
  std::set<std::string> names;
  for (const env::SiteInfo& site : engine::EngineSites()) {
    if (site.kind == env::SiteKind::kPlanted) names.insert(site.name);
  }
  return names;
}

TEST(PlantedBugs, RegistryAndEngineKnowTheSameNames) {
  std::set<std::string> registered;
  for (const PlantedBug& bug : PlantedBugs()) {
    registered.insert(std::string(bug.name));
  }
  EXPECT_EQ(registered, EngineNames());
}

TEST(PlantedBugs, RowsAreSortedAndComplete) {
  static const std::set<std::string> kPromises = {
      "DUR",      "ATOM", "VIS",  "STMT",   "UNIQ", "IDX", "HOT",
      "TOAST",    "VM",   "FRZ",  "SCHEMA", "EXT",  "FSM", "WAL",
      "REDO",     "REC",  "CKPT", "MONO",   "STBY", "TLI", "LOCKSAFE",
      "LOCKLIVE", "LIVE", "SER",  "RES"};
  std::string_view last;
  for (const PlantedBug& bug : PlantedBugs()) {
    EXPECT_LT(last, bug.name);
    last = bug.name;
    EXPECT_FALSE(bug.source.empty()) << bug.name;
    EXPECT_FALSE(bug.component.empty()) << bug.name;
    EXPECT_FALSE(bug.mechanism.empty()) << bug.name;
    std::string promises(bug.promise);
    size_t at = 0;
    while (at <= promises.size()) {
      size_t end = promises.find(' ', at);
      if (end == std::string::npos) end = promises.size();
      EXPECT_TRUE(kPromises.count(promises.substr(at, end - at)))
          << bug.name << ": " << promises;
      at = end + 1;
    }
  }
}

// A bug that was planted is taken off the list of those that are not.
TEST(UnplantedBugs, AreSortedAndOfNoSourceThatIsPlanted) {
  std::string_view last;
  for (const UnplantedBug& bug : UnplantedBugs()) {
    EXPECT_LT(last, bug.name);
    last = bug.name;
    EXPECT_FALSE(bug.lacks.empty()) << bug.name;
    std::string commit(bug.source.substr(0, bug.source.find(" (")));
    for (const PlantedBug& planted : PlantedBugs()) {
      EXPECT_EQ(planted.source.find(commit), std::string_view::npos)
          << bug.name << " is planted as " << planted.name;
    }
  }
}

TEST(PlantedBugs, WitnessRecipesExist) {
  for (const PlantedBug& bug : PlantedBugs()) {
    if (bug.witness.empty()) continue;
    EXPECT_TRUE(
        std::filesystem::exists("replay/corpus/" + std::string(bug.witness)))
        << bug.name;
  }
}

TEST(PlantedBugs, EveryRecipeOfTheCorpusIsTheWitnessOfItsBug) {
  int recipes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("replay/corpus")) {
    if (entry.path().extension() != ".recipe") continue;
    ++recipes;
    std::ifstream file(entry.path());
    std::string line;
    std::string planted;
    bool by_hand = false;
    while (std::getline(file, line)) {
      if (line.rfind("planted ", 0) == 0) planted = line.substr(8);
      by_hand = by_hand || line == "base zero";
    }
    const PlantedBug* bug = FindPlantedBug(planted);
    ASSERT_NE(bug, nullptr) << entry.path();
    EXPECT_EQ(bug->witness, entry.path().filename()) << planted;
    EXPECT_TRUE(by_hand) << entry.path();
  }
  EXPECT_GE(recipes, 20);
}

TEST(PlantedBugs, NamesAreCheckedAgainstTheBuild) {
  env::Status known = CheckPlantedName("page_written_before_wal");
  env::Status unknown = CheckPlantedName("no_such_bug");
  EXPECT_EQ(known.ok(), PlantedBuild());
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.message().find(PlantedBuild() ? "page_written_before_wal"
                                                  : "--config=planted"),
            std::string_view::npos);
}

}  // namespace
}  // namespace faults
