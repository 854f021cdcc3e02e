// PropertyMain: main() of a property suite.
//
// On a failure it prints the command that runs the smallest failing case again:
//
//   bazel test //properties:NAME --test_arg=--replay=RECIPE
//
// and, given --replay=RECIPE, runs that case alone. The recipe is rapidcheck's:
// property, seed, size and the path that shrinking took.
#ifndef MUSTH_PROPERTIES_PROPERTY_MAIN_H_
#define MUSTH_PROPERTIES_PROPERTY_MAIN_H_

namespace properties {

// Runs the tests; returns the exit code: 2 for a recipe that is none.
int PropertyMain(int argc, char** argv);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PROPERTY_MAIN_H_
