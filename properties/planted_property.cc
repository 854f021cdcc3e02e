// A property that does not hold: what property_main does with it is tested by
// property_main_test.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

RC_GTEST_PROP(PlantedProperty, EveryNumberIsSmall, (int x)) {
  RC_ASSERT(x < 57);
}

RC_GTEST_PROP(PlantedProperty, ANumberIsItself, (int x)) {
  RC_ASSERT(x == x + 0);
}
