// SessionPlan: a plan from the sessions' own SQL text, for runs written by
// hand.
//
// A session's text is what psql would take: statements ended by ';', comments,
// and pgbench's "\sleep 10 ms" between them. Statements are counted through the
// whole text: the third one of session 1 is s1.q3 (s1.t2.q3 in reports, where
// t counts transactions: BEGIN to COMMIT or ROLLBACK, or a statement alone).
#ifndef MUSTH_PROPERTIES_SESSION_PLAN_H_
#define MUSTH_PROPERTIES_SESSION_PLAN_H_

#include <string>
#include <vector>

#include "properties/plan.h"
#include "properties/run.h"
#include "sim/env/status.h"

namespace properties {

// Errors: kInvalid, "session N:LINE: " and what was expected, for text that
// does not parse.
env::Result<Plan> SessionPlan(const std::vector<SessionSource>& sessions,
                              const std::string& setup_name,
                              const std::string& setup_sql);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_SESSION_PLAN_H_
