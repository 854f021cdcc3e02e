// Laws of draws: pure functions of their address, overridden one by one, with
// the simplest value at 0.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "sim/choices.h"

namespace sim {

// An address, its bound apart.
struct Place {
  uint32_t stream = 0;
  std::vector<uint8_t> path;
  uint8_t site = 0;
  uint64_t n = 0;

  bool operator==(const Place&) const = default;
};

void showValue(const Place& p, std::ostream& os) {
  os << "{stream " << p.stream << " path";
  for (uint8_t label : p.path) os << " " << int{label};
  os << " site " << int{p.site} << " n " << p.n << "}";
}

namespace {

rc::Gen<Place> Places() {
  return rc::gen::build<Place>(
      rc::gen::set(
          &Place::stream,
          rc::gen::inRange<uint32_t>(0, static_cast<uint32_t>(Stream::kCount))),
      rc::gen::set(&Place::path, rc::gen::container<std::vector<uint8_t>>(
                                     rc::gen::inRange<uint8_t>(0, 5))),
      rc::gen::set(&Place::site, rc::gen::inRange<uint8_t>(0, 5)),
      rc::gen::set(&Place::n, rc::gen::inRange<uint64_t>(0, 6)));
}

Scope ScopeOf(const Place& place) {
  Scope scope;
  for (uint8_t label : place.path) scope = scope.Child("p", label);
  return scope;
}

std::string SiteOf(const Place& place) {
  return fmt::format("site_{}", place.site);
}

uint64_t DrawAt(Choices& choices, const Place& place, uint64_t bound) {
  return choices.Draw(static_cast<Stream>(place.stream), ScopeOf(place),
                      env::SiteHash(SiteOf(place)), place.n, bound);
}

Override OverrideOf(const Place& place, uint64_t value) {
  Override o;
  o.stream = static_cast<Stream>(place.stream);
  o.scope_path = ScopeOf(place).path();
  o.site = SiteOf(place);
  o.n = place.n;
  o.value = value;
  return o;
}

RC_GTEST_PROP(DrawProperty, NoDrawDependsOnTheOnesBefore, (uint64_t seed)) {
  auto places = *rc::gen::container<std::vector<Place>>(Places());
  uint64_t bound = *rc::gen::inRange<uint64_t>(0, 100);
  Choices forward(seed);
  Choices backward(seed);
  std::vector<uint64_t> there;
  for (const Place& p : places) there.push_back(DrawAt(forward, p, bound));
  std::vector<uint64_t> back;
  for (size_t i = places.size(); i-- > 0;) {
    back.push_back(DrawAt(backward, places[i], bound));
  }
  std::reverse(back.begin(), back.end());
  RC_ASSERT(there == back);
  for (uint64_t value : there) RC_ASSERT(bound == 0 || value < bound);
}

RC_GTEST_PROP(DrawProperty, DifferentAddressesAreDifferentDraws,
              (uint64_t seed)) {
  Place a = *Places();
  Place b = *Places();
  RC_PRE(!(a == b));
  Choices choices(seed);
  // Equal by chance once in 2^64.
  RC_ASSERT(DrawAt(choices, a, 0) != DrawAt(choices, b, 0));
  Choices other(seed + 1);
  RC_ASSERT(DrawAt(choices, a, 0) != DrawAt(other, a, 0));
}

RC_GTEST_PROP(DrawProperty, AnOverrideReplacesItsDrawAndNoOther,
              (uint64_t seed, uint64_t value)) {
  Place changed = *Places();
  auto others = *rc::gen::container<std::vector<Place>>(Places());
  uint64_t bound = *rc::gen::inRange<uint64_t>(0, 9);
  auto base = *rc::gen::element(Base::kSeed, Base::kZero);
  Choices plain(seed, base);
  Choices overridden(seed, base);
  overridden.AddOverride(OverrideOf(changed, value));
  RC_ASSERT(overridden.UnmatchedOverrides().size() == 1u);
  for (const Place& p : others) {
    if (p == changed) continue;
    RC_ASSERT(DrawAt(overridden, p, bound) == DrawAt(plain, p, bound));
  }
  RC_ASSERT(overridden.UnmatchedOverrides().size() == 1u);
  RC_ASSERT(DrawAt(overridden, changed, bound) ==
            (bound == 0 ? value : value % bound));
  RC_ASSERT(overridden.UnmatchedOverrides().empty());
}

RC_GTEST_PROP(DrawProperty, WithBaseZeroEveryDrawIsTheSimplest,
              (uint64_t seed)) {
  Choices choices(seed, Base::kZero);
  Place place = *Places();
  RC_ASSERT(DrawAt(choices, place, 0) == 0u);
  Drawer drawer(&choices, Stream::kWorkload, ScopeOf(place));
  RC_ASSERT(drawer.Between("x", -7, 9) == -7);
  RC_ASSERT(!drawer.Chance("x", 9, 10));
  RC_ASSERT(drawer.Weighted("x", std::array<uint32_t, 2>{1, 1000}) == 0u);
}

RC_GTEST_PROP(DrawProperty, MoreChanceNeverTakesATrueAway, (uint64_t seed)) {
  Choices choices(seed);
  Place place = *Places();
  auto denominator = *rc::gen::inRange<uint64_t>(1, 50);
  bool before = false;
  for (uint64_t numerator = 0; numerator <= denominator; ++numerator) {
    bool now = choices.Chance(static_cast<Stream>(place.stream), ScopeOf(place),
                              env::SiteHash(SiteOf(place)), place.n, numerator,
                              denominator);
    RC_ASSERT(now || !before);
    before = now;
  }
  RC_ASSERT(before);  // denominator of denominator
}

RC_GTEST_PROP(DrawProperty, WeightsAreSharesAndNothingWeighsNothing,
              (uint64_t seed)) {
  auto weights = *rc::gen::container<std::vector<uint32_t>>(
      rc::gen::inRange<uint32_t>(0, 8));
  uint64_t total = 0;
  for (uint32_t w : weights) total += w;
  RC_PRE(total > 0u);
  Choices choices(seed);
  Drawer drawer(&choices, Stream::kKnobs, Scope());
  constexpr uint64_t kDraws = 2000;
  std::vector<uint64_t> hits(weights.size());
  for (uint64_t i = 0; i < kDraws; ++i) {
    ++hits[drawer.Weighted("weights", weights)];
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) RC_ASSERT(hits[i] == 0u);
    uint64_t expected = kDraws * weights[i] / total;
    // Eight standard deviations of 2,000 draws at most.
    RC_ASSERT(hits[i] + 180 > expected);
    RC_ASSERT(hits[i] < expected + 180);
  }
}

RC_GTEST_PROP(DrawProperty, PrintedAddressesReadBack, (uint64_t value)) {
  Place place = *Places();
  Override o = OverrideOf(place, value);
  env::Result<Override> back = Override::Parse(o.ToString());
  RC_ASSERT(back.ok());
  RC_ASSERT(back->stream == o.stream);
  RC_ASSERT(back->scope_path == o.scope_path);
  RC_ASSERT(back->site == o.site);
  RC_ASSERT(back->n == o.n);
  RC_ASSERT(back->value == o.value);
  RC_ASSERT(Scope::FromPath(o.scope_path).key() == ScopeOf(place).key());
}

RC_GTEST_PROP(DrawProperty, KeysStandForNamesThatNobodyKnows,
              (uint64_t seed, uint64_t value)) {
  Place place = *Places();
  Override named = OverrideOf(place, value);
  Override keyed = named;
  keyed.scope_path = RawKey(ScopeOf(place).key());
  keyed.site = RawKey(env::SiteHash(SiteOf(place)));
  for (const Override* o : {&keyed, &named}) {
    Choices choices(seed);
    choices.AddOverride(Override::Parse(o->ToString()).value());
    RC_ASSERT(DrawAt(choices, place, 0) == value);
    RC_ASSERT(choices.UnmatchedOverrides().empty());
  }
  std::string text = keyed.ToString();
  text.erase(text.find('#') + 1, 1);
  RC_ASSERT(!Override::Parse(text).ok());
}

RC_GTEST_PROP(DrawProperty, NoTextMakesTheParserFail, (std::string text)) {
  env::Result<Override> parsed = Override::Parse(text);
  if (parsed.ok()) {
    RC_ASSERT(Override::Parse(parsed->ToString()).ok());
  }
}

TEST(Choices, BaseScheduleDrawsTheScheduleAndNothingElse) {
  Choices seeded(9);
  Choices schedule(9, Base::kSchedule);
  Scope scope = Scope::FromPath("w0");
  for (uint64_t n = 0; n < 50; ++n) {
    EXPECT_EQ(schedule.Draw(Stream::kKnobs, scope, 7, n, 1000), 0u);
    EXPECT_EQ(schedule.Draw(Stream::kSchedule, scope, 7, n, 1000),
              seeded.Draw(Stream::kSchedule, scope, 7, n, 1000));
  }
}

}  // namespace
}  // namespace sim
