package sqlitestore_test

import (
	"strings"
	"testing"
)

// No statement looks at more rows than it has to: every search goes through an index, and
// nothing is sorted but the page that has just been read.
func TestStatementsUseIndexes(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	for _, file := range []string{"records", "boards"} {
		plans, err := e.Plans(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		for name, plan := range plans {
			for _, step := range plan {
				few := step == "SCAN s" || step == "SCAN better" || step == "SCAN (subquery-1)" || strings.HasPrefix(step, "SCAN boards USING") && strings.Contains(step, "INDEX boards_")
				scans := strings.HasPrefix(step, "SCAN") && !few
				sorts := strings.Contains(step, "TEMP B-TREE")
				if (scans || sorts) && name != "selectStandingsMeta" {
					t.Errorf("%s: %s", name, strings.Join(plan, "; "))
				}
			}
			if name == "countInside" || name == "selectStandings" || name == "selectNth" {
				if !strings.Contains(plan[0], "COVERING INDEX standings (board=? AND (place,sequence)>") {
					t.Errorf("%s: %s", name, plan[0])
				}
			}
			// A page of a walk looks at a stretch only, and not at all that is behind it.
			if name == "selectWalk" || name == "selectWalkMeta" || name == "selectMoved" || name == "selectShown" {
				if !strings.Contains(strings.Join(plan, "; "), "AND (place,sequence)>(?,?) AND (place,sequence)<(?,?))") {
					t.Errorf("%s: %s", name, strings.Join(plan, "; "))
				}
			}
		}
		t.Log(plans)
	}
}
