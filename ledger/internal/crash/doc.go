// Package crash holds tests only: processes that use a ledger are killed at
// every point of the write path, and afterwards nothing may have happened twice
// and nothing may be lost.
//
// The test binary starts itself as a helper process, which makes calls of the
// client against a sandbox. The sandbox lives in the process of the test, on
// loopback TCP, and so survives the kill with its journal of what really
// happened. A helper kills itself, by SIGKILL, the moment it passes the point it
// was told; see points_test.go for how the points come about without a line in
// the product. What has to hold afterwards is said by
//
//   - matrix_test.go of one call, and worker_test.go of one operation that workers send,
//   - lane_test.go of several that are sent in their order,
//   - topup_test.go of two of which one waits while the other is unknown,
//   - provision_test.go of a workflow, and inbox_test.go of an event.
//
// interlude_test.go has what may happen between the death of a worker and the next:
// another API key, another server, a clock that is set, a process that was stopped and
// goes on, a newer call.
package crash
